"""One crossed model of a board: submission, dataset, class, task and seeded run, its components in closed form.

The mean of submission s over the tasks of dataset d in run r is

    y[r, d, s] = common[r, d] + theta[s] + u[r, s] + b[d, s] + k[d, s] + t[d, s] + v[r, d, s] + e[r, d, s]

- `common`: how hard the tasks are, the same for all submissions, which no difference between them feels
- `theta`: true levels, over other datasets and other runs; submissions are draws of one population of submissions
- `u`: what a seeded run does to a submission; `b`: what a dataset does, `k`: the draw of its classes
- `t`: its tasks, where all runs met the same ones; `e`: its tasks in one run, or what is left of them beside `t`
- `v`: run and dataset together

All but `common` are normal, each with a covariance `[S - 1, S - 1]` of the differences between submissions, since
submissions that share a backbone fail on the same datasets. The covariances come from the mean squares of the balanced
crossed design by the method of moments, in which a difference that would be negative is 0 (Henderson 1953, method 1;
Searle, Casella and McCulloch 1992, *Variance Components*, 4.3); datasets with other numbers of tasks count alike
(unweighted means). Mean squares of few units are shrunk towards equal variances by the oracle approximating formula
(Chen et al. 2010). What is said of one population or another is then read off this one fit (`crossed_levels`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyshot_scoring.reliability.matrix import ClassMatrix, ScoreMatrix

Matrix = NDArray[np.float64]
FEW_STEPS = 50  # of filling in cells without tasks


@dataclass(frozen=True)
class MeanSquare:
    """A mean square `[p, p]` on the scale of a cell's mean, and the degrees of freedom that its size is known with."""

    value: Matrix
    freedom: float

    @property
    def known(self) -> bool:
        """Whether there was anything to estimate it from."""
        return self.freedom > 0


@dataclass(frozen=True)
class MeanSquares:
    """Of datasets, runs, both together, tasks in a run, tasks that the runs share, and classes, in this order.

    `datasets` and `runs` are how many there are.
    """

    by_dataset: MeanSquare
    by_run: MeanSquare
    both: MeanSquare
    own_tasks: MeanSquare
    shared_tasks: MeanSquare
    by_class: MeanSquare
    datasets: int
    runs: int

    @property
    def all(self) -> tuple[MeanSquare, ...]:
        """The six."""
        return (
            self.by_dataset,
            self.by_run,
            self.both,
            self.own_tasks,
            self.shared_tasks,
            self.by_class,
        )


@dataclass(frozen=True)
class Effects:
    """Covariances `[p, p]` of one draw of each effect on a cell's mean, named as in the model."""

    u: Matrix
    b: Matrix
    k: Matrix
    t: Matrix
    v: Matrix
    e: Matrix

    def on_means(self, by_dataset: float, by_task: float) -> Effects:
        """The same on weighted means of cells: what datasets do, and what tasks do, is multiplied by these."""
        return Effects(
            self.u,
            self.b * by_dataset,
            self.k * by_dataset,
            self.t * by_task,
            self.v * by_dataset,
            self.e * by_task,
        )


@dataclass(frozen=True)
class Cells:
    """What draws are made for: cells `[R, D, p]`, or the mean of each run's as the one cell that it has.

    `common` `[R, D]` is what all submissions share, `weights` `[R, D]` are the shares of datasets in a run's mean;
    effects of datasets and of tasks count `by_dataset` and `by_task` times as much as on a cell.
    """

    differences: Matrix
    common: Matrix
    weights: Matrix
    by_dataset: float = 1.0
    by_task: float = 1.0


@dataclass(frozen=True)
class CrossedFit:
    """The fit: cells `[R, D, S - 1]` on the axes `[S, S - 1]` of the differences, and their mean squares.

    `common` `[R, D]` is the mean of all submissions, `sizes` `[R, D]` are the numbers of tasks.
    """

    axes: Matrix
    cells: Matrix
    common: Matrix
    sizes: Matrix
    squares: MeanSquares
    common_squares: MeanSquares

    @property
    def submissions(self) -> int:
        """How many there are."""
        return len(self.axes)

    @property
    def weights(self) -> Matrix:
        """Shares `[R, D]` of a run's tasks that each dataset has; a run's sum to 1."""
        return self.sizes / self.sizes.sum(axis=1, keepdims=True)

    def by_cell(self) -> Cells:
        """Every cell, for rules that rank by datasets."""
        return Cells(self.cells, self.common, self.weights)

    def by_run(self) -> Cells:
        """The mean over each run's tasks, which is all that other rules look at."""
        weights = self.weights
        full = self.sizes > 0
        tasks = np.divide(weights**2, self.sizes, out=np.zeros_like(weights), where=full).sum(axis=1)
        return Cells(
            np.einsum("rd,rdp->rp", weights, self.cells)[:, None],
            (weights * self.common).sum(axis=1, keepdims=True),
            np.ones((len(weights), 1)),
            by_dataset=float((weights.mean(axis=0) ** 2).sum()),
            by_task=float(tasks.mean() / np.mean(1 / self.sizes[full])),
        )


def fit_crossed(
    matrix: ScoreMatrix, classes: ClassMatrix | None = None, *, shared_tasks: bool = False
) -> CrossedFit:
    """Fit the model to a board; `shared_tasks`: its runs met the same tasks, in the same order."""
    count = len(matrix.keys)
    axes = np.linalg.qr(np.eye(count)[:, :-1] - 1.0 / count)[0]
    sizes = np.zeros((matrix.runs, len(matrix.datasets)))
    np.add.at(sizes, (matrix.run, matrix.dataset), 1.0)
    means = _filled(matrix.run_dataset_means())
    by_axis = np.concatenate([axes, np.full((count, 1), 1.0 / count)], axis=1)
    rotated = means @ by_axis
    tasks = _task_squares(matrix, by_axis, sizes, shared_tasks)
    by_class = _class_square(classes, by_axis, shared_tasks)
    lone, kept = slice(count - 1, count), slice(0, count - 1)
    return CrossedFit(
        axes=axes,
        cells=rotated[..., kept],
        common=rotated[..., -1],
        sizes=sizes,
        squares=_squares(rotated[..., kept], [_part(s, kept) for s in (*tasks, by_class)]),
        common_squares=_squares(rotated[..., lone], [_part(s, lone) for s in (*tasks, by_class)]),
    )


def effects_of(squares: MeanSquares, factors: NDArray[Any] | None = None) -> Effects:
    """The covariances that the mean squares stand for, each of them multiplied by its one of six `factors`.

    Without two tasks in any cell, tasks cannot be told from what stands above them, and take all of it: that is on
    the safe side for other tasks and the same for other datasets.
    """
    scale = np.ones(6) if factors is None else factors
    parts = [square.value * factor for square, factor in zip(squares.all, scale, strict=True)]
    return _split(squares, parts, _positive)


def deviations_of(squares: MeanSquares, factors: NDArray[Any]) -> dict[str, Matrix]:
    """The same for the mean over all differences, as standard deviations, by name, for each of `factors` `[n, 6]`."""
    parts = [
        np.trace(square.value) / len(square.value) * own
        for square, own in zip(squares.all, factors.T, strict=True)
    ]
    split = _split(squares, parts, lambda variances: np.maximum(variances, 0.0))
    return {name: np.sqrt(variances) for name, variances in vars(split).items()}


def _split(squares: MeanSquares, parts: list[Matrix], positive: Callable[[Matrix], Matrix]) -> Effects:
    dataset, run, both, own, shared, klass = parts
    none = np.zeros_like(dataset)
    if not squares.own_tasks.known:
        own = both if squares.both.known else dataset
    v = positive(both - own) if squares.both.known else none
    cell = v + own
    u = positive(run - cell / squares.datasets) if squares.by_run.known else none
    apart = squares.own_tasks.known or squares.both.known
    b = (
        positive(dataset - cell / squares.runs - shared - klass)
        if squares.by_dataset.known and apart
        else none
    )
    return Effects(u, b, klass, shared, v, own)


def _part(square: MeanSquare, kept: slice) -> MeanSquare:
    """The mean square on some of the axes, shrunk."""
    return _shrunk(square.value[kept, kept], int(square.freedom))


def _squares(cells: Matrix, within: list[MeanSquare]) -> MeanSquares:
    """The mean squares of cells `[R, D, p]`, beside those of tasks and classes."""
    runs, datasets = cells.shape[:2]
    grand = cells.mean(axis=(0, 1))
    by_dataset, by_run = cells.mean(axis=0) - grand, cells.mean(axis=1) - grand
    rest = cells - by_dataset[None] - by_run[:, None] - grand
    return MeanSquares(
        _square(by_dataset, datasets - 1),
        _square(by_run, runs - 1),
        _square(rest, (runs - 1) * (datasets - 1)),
        *within,
        datasets=datasets,
        runs=runs,
    )


def _square(deviations: Matrix, freedom: int) -> MeanSquare:
    rows = deviations.reshape(int(np.prod(deviations.shape[:-1])), deviations.shape[-1])
    return _shrunk(rows.T @ rows / max(freedom, 1), freedom)


def _shrunk(covariance: Matrix, freedom: int) -> MeanSquare:
    """Drawn towards equal variances, by as much as its freedom demands; its size is known the better for that."""
    p = len(covariance)
    if freedom <= 0 or p == 0:
        return MeanSquare(np.zeros_like(covariance), 0.0)
    share = shrinkage(covariance, freedom)
    flat = np.trace(covariance) / p * np.eye(p)
    return MeanSquare((1 - share) * covariance + share * flat, freedom * (1 + share * (p - 1)))


def shrinkage(covariance: Matrix, freedom: int) -> float:
    """The oracle approximating share of equal variances in a covariance `[p, p]` (Chen et al. 2010, eq. 23)."""
    p = len(covariance)
    if p == 1:
        return 1.0
    squared, traced = float((covariance**2).sum()), float(np.trace(covariance)) ** 2
    below = (freedom + 1 - 2 / p) * (squared - traced / p)
    return 1.0 if below <= 0 else min(1.0, ((1 - 2 / p) * squared + traced) / below)


def _task_squares(
    matrix: ScoreMatrix, axes: Matrix, sizes: NDArray[Any], shared: bool
) -> tuple[MeanSquare, MeanSquare]:
    """Of tasks within cells, on the scale of a cell's mean: those of one run, and those that the runs share."""
    cell = matrix.run * len(matrix.datasets) + matrix.dataset
    n = 1 / np.mean(1 / sizes[sizes > 0])
    rotated = matrix.scores @ axes
    inside = rotated - _means_by(rotated, cell)[cell]
    free = int(np.maximum(sizes - 1, 0).sum())
    none = MeanSquare(np.zeros((axes.shape[1],) * 2), 0.0)
    if not shared or matrix.runs < 2:
        return MeanSquare(inside.T @ inside / max(free, 1) / n, float(free)), none
    by_run = inside.reshape(matrix.runs, -1, axes.shape[1])
    common = by_run.mean(axis=0)
    rest = (by_run - common).reshape(-1, inside.shape[-1])
    free_tasks = int(np.maximum(sizes[0] - 1, 0).sum())
    free_rest = free_tasks * (matrix.runs - 1)
    own = rest.T @ rest / max(free_rest, 1)
    seen = common.T @ common / max(free_tasks, 1)
    return (
        MeanSquare(own / n, float(free_rest)),
        MeanSquare(_positive(seen - own / matrix.runs) / n, float(free_tasks)),
    )


def _means_by(values: Matrix, place: NDArray[np.int64]) -> Matrix:
    sums = np.zeros((int(place.max()) + 1, values.shape[1]))
    np.add.at(sums, place, values)
    return sums / np.maximum(np.bincount(place), 1)[:, None]


def _class_square(classes: ClassMatrix | None, axes: Matrix, shared: bool) -> MeanSquare:
    """Of what the draw of its classes does to a dataset's mean: their spread within datasets, less that of the runs.

    With a single run, or runs on the same tasks, the noise of a class's own tasks stays in, which is on the safe side.
    """
    none = MeanSquare(np.zeros((axes.shape[1],) * 2), 0.0)
    if classes is None or (np.bincount(classes.dataset) < 2).any():
        return none
    counts = np.bincount(classes.dataset).astype(float)
    rotated = classes.scores() @ axes
    inside = rotated - _means_by(rotated, classes.dataset)[classes.dataset]
    free = int((counts - 1).sum())
    seen = inside.T @ inside / free
    full = (classes.shares > 0).all(axis=0)
    if len(classes.sums) > 1 and not shared and full.any():
        by_run = classes.sums[:, full] / classes.shares[:, full, None] @ axes
        rest = by_run - by_run.mean(axis=0)
        rest = rest.reshape(-1, rest.shape[-1])
        runs = len(classes.sums)
        seen = _positive(seen - rest.T @ rest / ((runs - 1) * int(full.sum())) / runs)
    return MeanSquare(seen * np.mean(1 / counts), float(free))


def _positive(matrix: Matrix) -> Matrix:
    """The nearest matrix without negative variances."""
    if not len(matrix):
        return matrix
    variances, axes = np.linalg.eigh((matrix + matrix.T) / 2)
    return (axes * np.maximum(variances, 0.0)) @ axes.T


def _filled(means: Matrix) -> Matrix:
    """Cells `[R, D, S]` without tasks have what their run and dataset would give without anything of both together."""
    empty = np.isnan(means)
    if not empty.any():
        return means
    filled = np.where(empty, np.nanmean(means, axis=(0, 1)), means)
    for _ in range(FEW_STEPS):
        grand = filled.mean(axis=(0, 1))
        guess = filled.mean(axis=0)[None] + filled.mean(axis=1)[:, None] - grand
        filled = np.where(empty, guess, means)
    return filled
