"""Bootstrap replicates of the scores of all submissions at once, in bounded memory.

The replicates keep the submissions paired: each one is a draw of tasks, classes, datasets or runs for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from anyshot_scoring.errors import ScoringError
from anyshot_scoring.reliability.matrix import ClassMatrix, ScoreMatrix
from anyshot_scoring.rules import Rule, find_rule

_BLOCK_BYTES = 16 << 20  # of the largest intermediate array
MOST_ENUMERATED = 6  # datasets, all draws of which are looked at


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


@dataclass(frozen=True)
class Replicates:
    """What B draws give: the mean of each run `[B, R, S]`, and on each dataset `[B, R, D, S]` (NaN: no tasks there).

    Datasets are kept only where they are asked for: they take D times the memory.
    """

    runs: NDArray[np.float64]
    datasets: NDArray[np.float64] | None

    @classmethod
    def empty(cls, matrix: ScoreMatrix, replicates: int, *, datasets: bool) -> Replicates:
        """Nothing drawn yet: means are 0, datasets NaN."""
        runs, own = matrix.runs, len(matrix.keys)
        parts = np.full((replicates, runs, len(matrix.datasets), own), np.nan) if datasets else None
        return cls(np.zeros((replicates, runs, own)), parts)

    def points(self, rule: Rule) -> NDArray[np.float64]:
        """What the rule ranks by, `[B, S]`, higher is better."""
        if self.datasets is None:
            return rule.points(self.runs, np.empty((*self.runs.shape[:2], 0, self.runs.shape[2])))
        return rule.points(self.runs, self.datasets)


def resample(
    matrix: ScoreMatrix,
    population: Population | str = Population.TASKS,
    *,
    classes: ClassMatrix | None = None,
    replicates: int = 10_000,
    seed: int = 0,
    rule: Rule | str = "mean_run",
    one_stage: bool = False,
) -> NDArray[np.float64]:
    """What the rule ranks by, `[replicates, S]`, higher is better, under draws from the population.

    - `tasks`: n of the n tasks of each dataset in each run, with replacement; deviations of tasks and classes grow by
      sqrt(n / (n - 1)), so that few tasks or classes do not make them too small (Rao and Wu 1988).
    - `datasets`: D of the D datasets, the same for all runs; within each drawn dataset its tasks anew (two-stage
      bootstrap: slightly wider than datasets alone, by the noise of the tasks). With `one_stage` the tasks stay as
      they are; up to six datasets, all draws with replacement are then looked at once each (6^6 = 46,656), whatever
      `replicates` says.
    - `classes`: the deviation of a draw of each dataset's classes plus that of a draw of tasks, independent of each
      other (for means, the variances of the crossed factors add up; Owen 2007, *The pigeonhole bootstrap*).
    - `seeds`: R of the R runs. Coarse: three runs have ten distinct draws.

    Same input and seed, same numbers. Raises `ScoringError` for classes without a `ClassMatrix`, and where there is
    a single unit to draw from; `NothingToRank` for an unknown rule.
    """
    if replicates < 1:
        raise ScoringError("At least one replicate is needed.")
    chosen, rng = find_rule(rule) if isinstance(rule, str) else rule, np.random.default_rng(seed)
    if one_stage:
        return _whole_datasets(matrix, chosen, replicates, rng)
    parts = [
        _draw(matrix, Population(population), classes, size, rng, chosen.by_dataset).points(chosen)
        for size in _portions(matrix, replicates, chosen.by_dataset)
    ]
    return np.concatenate(parts)


def _portions(matrix: ScoreMatrix, replicates: int, datasets: bool) -> list[int]:
    """How many replicates to draw at a time: all, unless their datasets would take too much memory."""
    each = 8 * matrix.runs * len(matrix.datasets) * len(matrix.keys)
    most = max(1, 2 * _BLOCK_BYTES // each) if datasets else replicates
    return [min(most, replicates - start) for start in range(0, replicates, most)]


def _draw(
    matrix: ScoreMatrix,
    population: Population,
    classes: ClassMatrix | None,
    replicates: int,
    rng: np.random.Generator,
    datasets: bool,
) -> Replicates:
    draws = Replicates.empty(matrix, replicates, datasets=datasets)
    if population is Population.TASKS:
        _draw_tasks(matrix, draws, rng)
    elif population is Population.DATASETS:
        _draw_datasets(matrix, draws, rng)
    elif population is Population.SEEDS:
        return _draw_runs(matrix, draws, rng)
    else:
        _draw_classes(matrix, classes, draws, rng)
    return draws


def _draw_tasks(matrix: ScoreMatrix, draws: Replicates, rng: np.random.Generator) -> None:
    sizes, replicates = np.bincount(matrix.run).astype(float), len(draws.runs)
    for run, dataset, scores in _cells(matrix):
        center, n = scores.sum(axis=0), len(scores)
        draws.runs[:, run] += center
        for block in _blocks(replicates, n):
            deviation = _unbiased(n) * (_count_draws(block.stop - block.start, n, rng) @ scores - center)
            draws.runs[block, run] += deviation
            if draws.datasets is not None:
                draws.datasets[block, run, dataset] = (center + deviation) / n
    draws.runs[:] /= sizes[:, None]


def _draw_datasets(matrix: ScoreMatrix, draws: Replicates, rng: np.random.Generator) -> None:
    """A dataset drawn twice gives two, each with tasks of its own, side by side in `draws.datasets`."""
    n, replicates = len(matrix.datasets), len(draws.runs)
    if n < 2:
        raise ScoringError("There is a single dataset: nothing can be said about others.")
    chosen = _count_draws(replicates, n, rng)
    before = (np.cumsum(chosen, axis=1) - chosen).astype(int)
    weights = np.zeros((replicates, matrix.runs))
    for run, dataset, scores in _cells(matrix):
        times = chosen[:, dataset]
        weights[:, run] += times * len(scores)
        for copy in range(int(times.max(initial=0))):
            rows = np.flatnonzero(times > copy)
            for block in _blocks(len(rows), len(scores)):
                part = rows[block]
                total = _count_draws(len(part), len(scores), rng) @ scores
                draws.runs[part, run] += total
                if draws.datasets is not None:
                    draws.datasets[part, run, before[part, dataset] + copy] = total / len(scores)
    if not weights.all():
        raise ScoringError("Each run must have tasks of each dataset.")
    draws.runs[:] /= weights[:, :, None]


def _whole_datasets(
    matrix: ScoreMatrix, rule: Rule, replicates: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """What the rule ranks by where D of the D datasets are drawn with all their tasks, `[replicates, S]`."""
    n, means = len(matrix.datasets), matrix.run_dataset_means()
    if n < 2:
        raise ScoringError("There is a single dataset: nothing can be said about others.")
    if rule.by_dataset:
        portions = [rng.integers(0, n, (size, n)) for size in _portions(matrix, replicates, datasets=True)]
    else:
        portions = [_every_draw(n) if n <= MOST_ENUMERATED else rng.integers(0, n, (replicates, n))]
    return np.concatenate([_of_datasets(matrix, means, rule, picked) for picked in portions])


def _of_datasets(
    matrix: ScoreMatrix, means: NDArray[np.float64], rule: Rule, picked: NDArray[np.int64]
) -> NDArray[np.float64]:
    n = len(matrix.datasets)
    times = np.stack([(picked == dataset).sum(axis=1) for dataset in range(n)], axis=1).astype(np.float64)
    sizes = np.zeros((matrix.runs, n))
    np.add.at(sizes, (matrix.run, matrix.dataset), 1.0)
    sums = np.nan_to_num(means) * sizes[:, :, None]
    runs = np.stack(
        [times @ own / (times @ size)[:, None] for own, size in zip(sums, sizes, strict=True)], axis=1
    )
    datasets = means[:, picked].transpose(1, 0, 2, 3) if rule.by_dataset else None
    return Replicates(runs, datasets).points(rule)


def _every_draw(units: int) -> NDArray[np.int64]:
    """Every one of the units^units draws with replacement, `[units^units, units]`."""
    return np.stack(np.meshgrid(*[np.arange(units)] * units, indexing="ij"), axis=-1).reshape(-1, units)


def _draw_runs(matrix: ScoreMatrix, draws: Replicates, rng: np.random.Generator) -> Replicates:
    means = matrix.run_means()
    if len(means) < 2:
        raise ScoringError("There is a single run: nothing can be said about other seeds.")
    picked = rng.integers(0, len(means), (len(draws.runs), len(means)))
    return Replicates(means[picked], None if draws.datasets is None else matrix.run_dataset_means()[picked])


def _draw_classes(
    matrix: ScoreMatrix, classes: ClassMatrix | None, draws: Replicates, rng: np.random.Generator
) -> None:
    if classes is None:
        raise ScoringError("Conclusions about other classes need the predictions by class.")
    tasks_share = np.stack(
        [
            np.bincount(matrix.dataset[matrix.run == run], minlength=len(matrix.datasets))
            for run in range(matrix.runs)
        ]
    ).astype(float)
    tasks_share /= tasks_share.sum(axis=1, keepdims=True)
    deviation = np.zeros_like(draws.runs)
    by_dataset = None if draws.datasets is None else np.zeros_like(draws.datasets)
    for dataset in range(len(matrix.datasets)):
        members = np.flatnonzero(classes.dataset == dataset)
        if len(members) < 2:
            raise ScoringError(f"The dataset {matrix.datasets[dataset]} has a single class to draw from.")
        for block in _blocks(len(draws.runs), len(members)):
            counts = _count_draws(block.stop - block.start, len(members), rng)
            for run in range(matrix.runs):
                sums, shares = classes.sums[run, members], classes.shares[run, members]
                drawn = (counts @ sums) / np.maximum(counts @ shares, 1e-300)[:, None]
                shift = _unbiased(len(members)) * (drawn - sums.sum(axis=0) / shares.sum())
                deviation[block, run] += tasks_share[run, dataset] * shift
                if by_dataset is not None:
                    by_dataset[block, run, dataset] = shift
    _draw_tasks(matrix, draws, rng)
    draws.runs[:] += deviation
    if draws.datasets is not None and by_dataset is not None:
        draws.datasets[:] += by_dataset


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
