"""Paired differences of baselines on the same tasks, with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anyshot_scoring.reliability import Interval, Population, ScoreMatrix, align, compare
from anyshot_scoring.table import TaskTable
from anyshot_studies.experiment.carry_out import Done
from anyshot_studies.experiment.finding import FindingVerdict

REPLICATES = 2_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """`first` minus `second`: the mean paired difference and its 95 % intervals; None where one is undefined."""

    first: str
    second: str
    mean: float
    tasks: Interval | None  # over other tasks of these datasets
    datasets: Interval | None  # over other datasets

    @property
    def verdict(self) -> FindingVerdict:
        """Whether `first` is above, over other tasks."""
        if self.tasks is None:
            return FindingVerdict.UNDECIDED
        return FindingVerdict.above_zero(self.tasks.low, self.tasks.high)


def make_matrix(done: Sequence[Done]) -> ScoreMatrix | None:
    """The baselines that finished on every seed side by side; None if there are no two."""
    seeds = sorted({run.seed for run in done})
    found: dict[str, dict[int, TaskTable]] = {}
    for run in done:
        if run.table is not None:
            found.setdefault(run.name, {})[run.seed] = run.table
    complete = {name: [own[s] for s in seeds] for name, own in found.items() if len(own) == len(seeds)}
    return align(complete) if len(complete) > 1 else None


def compare_two(matrix: ScoreMatrix, first: str, second: str) -> Comparison:
    """Two baselines of the matrix."""
    result = compare(matrix, first, second, replicates=REPLICATES)
    intervals = [result.bootstrap[p] for p in (Population.TASKS, Population.DATASETS)]
    tasks, datasets = (part if isinstance(part, Interval) else None for part in intervals)
    return Comparison(first, second, result.mean, None if has_single_tasks(matrix) else tasks, datasets)


def compare_all(matrix: ScoreMatrix) -> list[Comparison]:
    """Each baseline against the best one, best first; then each arm against the plain one."""
    ordered = sorted(matrix.keys, key=lambda name: -float(matrix.column(name).mean()))
    pairs = [(name, ordered[0]) for name in ordered[1:]]
    for name in ordered:
        plain = name.rpartition(" (")[0]
        if plain in matrix.keys and (name, plain) not in pairs:
            pairs.append((name, plain))
    return [compare_two(matrix, first, second) for first, second in pairs]


def has_single_tasks(matrix: ScoreMatrix) -> bool:
    """Whether a dataset has one task in a run: drawn again it is always the same, which says nothing about others."""
    cells = np.bincount(matrix.run * len(matrix.datasets) + matrix.dataset)
    return bool((cells == 1).any())


def shown(interval: Interval | None) -> str:
    """As tables have it."""
    return "undefined" if interval is None else f"[{interval.low:+.3f}, {interval.high:+.3f}]"
