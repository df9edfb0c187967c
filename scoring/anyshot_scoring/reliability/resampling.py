"""Bootstrap replicates of the scores of all submissions at once, in bounded memory.

The replicates keep the submissions paired: each one is a draw of tasks, classes, datasets or runs for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from anyshot_scoring.errors import ScoringError
from anyshot_scoring.rankings import COMBINATIONS
from anyshot_scoring.reliability.matrix import ClassMatrix, ScoreMatrix

_BLOCK_BYTES = 16 << 20  # of the largest intermediate array


class Population(StrEnum):
    """What a conclusion is about, which is also what is drawn again."""

    TASKS = "tasks"
    CLASSES = "classes"
    DATASETS = "datasets"
    SEEDS = "seeds"


POPULATIONS: dict[Population, str] = {
    Population.TASKS: "other tasks of these datasets",
    Population.CLASSES: "other classes of these datasets",
    Population.DATASETS: "other datasets",
    Population.SEEDS: "other seeded runs of these submissions",
}


def resample(
    matrix: ScoreMatrix,
    population: Population | str = Population.TASKS,
    *,
    classes: ClassMatrix | None = None,
    replicates: int = 10_000,
    seed: int = 0,
    combination: str = "mean",
) -> NDArray[np.float64]:
    """Scores `[replicates, S]` of the submissions under draws from the population.

    A run's score is the mean over its tasks; `combination` ("worst", "mean", "median") joins the runs.

    - `tasks`: n of the n tasks of each dataset in each run, with replacement; deviations of tasks and classes grow by
      sqrt(n / (n - 1)), so that few tasks or classes do not make them too small (Rao and Wu 1988).
    - `datasets`: D of the D datasets, the same for all runs; within each drawn dataset its tasks anew (two-stage
      bootstrap: slightly wider than datasets alone, by the noise of the tasks).
    - `classes`: the deviation of a draw of each dataset's classes plus that of a draw of tasks, independent of each
      other (for means, the variances of the crossed factors add up; Owen 2007, *The pigeonhole bootstrap*).
    - `seeds`: R of the R runs. Coarse: three runs have ten distinct draws.

    Same input and seed, same numbers. Raises `ScoringError` for classes without a `ClassMatrix`, and where there is
    a single unit to draw from.
    """
    if combination not in COMBINATIONS:
        raise ScoringError(f"There is no combination {combination!r}.")
    if replicates < 1:
        raise ScoringError("At least one replicate is needed.")
    chosen, rng = Population(population), np.random.default_rng(seed)
    if chosen is Population.TASKS:
        by_run = _draw_tasks(matrix, replicates, rng)
    elif chosen is Population.DATASETS:
        by_run = _draw_datasets(matrix, replicates, rng)
    elif chosen is Population.SEEDS:
        by_run = _draw_runs(matrix, replicates, rng)
    else:
        by_run = _draw_classes(matrix, classes, replicates, rng)
    return join_runs(by_run, combination)


def join_runs(by_run: NDArray[np.float64], combination: str) -> NDArray[np.float64]:
    """Combine the runs of `[..., runs, S]` into `[..., S]`."""
    joined = {"worst": np.min, "mean": np.mean, "median": np.median}[combination]
    return joined(by_run, axis=-2)


def _draw_tasks(matrix: ScoreMatrix, replicates: int, rng: np.random.Generator) -> NDArray[np.float64]:
    result = np.zeros((replicates, matrix.runs, len(matrix.keys)))
    sizes = np.bincount(matrix.run).astype(float)
    for run, _, scores in _cells(matrix):
        center, n = scores.sum(axis=0), len(scores)
        result[:, run] += center
        for block in _blocks(replicates, n):
            drawn = _count_draws(block.stop - block.start, n, rng) @ scores
            result[block, run] += _unbiased(n) * (drawn - center)
    result /= sizes[:, None]
    return result


def _draw_datasets(matrix: ScoreMatrix, replicates: int, rng: np.random.Generator) -> NDArray[np.float64]:
    n = len(matrix.datasets)
    if n < 2:
        raise ScoringError("There is a single dataset: nothing can be said about others.")
    chosen = _count_draws(replicates, n, rng)
    totals = np.zeros((replicates, matrix.runs, len(matrix.keys)))
    weights = np.zeros((replicates, matrix.runs))
    for run, dataset, scores in _cells(matrix):
        times = chosen[:, dataset]
        weights[:, run] += times * len(scores)
        for copy in range(int(times.max(initial=0))):
            rows = np.flatnonzero(times > copy)
            for block in _blocks(len(rows), len(scores)):
                part = rows[block]
                totals[part, run] += _count_draws(len(part), len(scores), rng) @ scores
    if not weights.all():
        raise ScoringError("Each run must have tasks of each dataset.")
    totals /= weights[:, :, None]
    return totals


def _draw_runs(matrix: ScoreMatrix, replicates: int, rng: np.random.Generator) -> NDArray[np.float64]:
    means = matrix.run_means()
    if len(means) < 2:
        raise ScoringError("There is a single run: nothing can be said about other seeds.")
    return means[rng.integers(0, len(means), (replicates, len(means)))]


def _draw_classes(
    matrix: ScoreMatrix, classes: ClassMatrix | None, replicates: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    if classes is None:
        raise ScoringError("Conclusions about other classes need the predictions by class.")
    tasks_share = np.stack(
        [
            np.bincount(matrix.dataset[matrix.run == run], minlength=len(matrix.datasets))
            for run in range(matrix.runs)
        ]
    ).astype(float)
    tasks_share /= tasks_share.sum(axis=1, keepdims=True)
    deviation = np.zeros((replicates, matrix.runs, len(matrix.keys)))
    for dataset in range(len(matrix.datasets)):
        members = np.flatnonzero(classes.dataset == dataset)
        if len(members) < 2:
            raise ScoringError(f"The dataset {matrix.datasets[dataset]} has a single class to draw from.")
        for block in _blocks(replicates, len(members)):
            counts = _count_draws(block.stop - block.start, len(members), rng)
            for run in range(matrix.runs):
                sums, shares = classes.sums[run, members], classes.shares[run, members]
                drawn = (counts @ sums) / np.maximum(counts @ shares, 1e-300)[:, None]
                shift = _unbiased(len(members)) * (drawn - sums.sum(axis=0) / shares.sum())
                deviation[block, run] += tasks_share[run, dataset] * shift
    deviation += _draw_tasks(matrix, replicates, rng)
    return deviation


def _cells(matrix: ScoreMatrix) -> Iterator[tuple[int, int, NDArray[np.float64]]]:
    """Run, dataset and scores `[n, S]` of the tasks of each dataset in each run."""
    for run in range(matrix.runs):
        for dataset in range(len(matrix.datasets)):
            rows = np.flatnonzero((matrix.run == run) & (matrix.dataset == dataset))
            if rows.size:
                yield run, dataset, matrix.scores[rows]


def _blocks(replicates: int, units: int) -> Iterator[slice]:
    """Slices over the replicates such that counts `[block, units]` stay within `_BLOCK_BYTES`."""
    step = max(1, _BLOCK_BYTES // (8 * units))
    for start in range(0, replicates, step):
        yield slice(start, min(start + step, replicates))


def _unbiased(units: int) -> float:
    """sqrt(n / (n - 1)): what the deviations of n draws of n units lack to have the variance with ddof 1."""
    return float(np.sqrt(units / (units - 1))) if units > 1 else 1.0


def _count_draws(replicates: int, units: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """How often each of n units is drawn in n draws with replacement, `[replicates, units]`."""
    drawn = rng.integers(0, units, (replicates, units))
    drawn += np.arange(replicates)[:, None] * units
    counts = np.bincount(drawn.ravel(), minlength=replicates * units)
    return counts.reshape(replicates, units).astype(np.float64)
