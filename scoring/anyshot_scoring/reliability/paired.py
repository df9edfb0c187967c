"""The difference of two submissions on the tasks that they have in common."""

from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from scipy import special

from anyshot_scoring.intervals import t_interval
from anyshot_scoring.reliability.matrix import ClassMatrix, ScoreMatrix
from anyshot_scoring.reliability.resampling import Population, resample
from anyshot_scoring.undefined import Undefined

Verdict = Literal["different", "equivalent", "undecided"]


@dataclass(frozen=True)
class Interval:
    """Bounds at a confidence; `units` are the independent ones (tasks, classes or datasets) that it rests on."""

    low: float
    high: float
    confidence: float
    units: int

    def holds(self, value: float) -> bool:
        """Whether the value lies inside."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class PairedDifference:
    """`first` minus `second`, mean over all common tasks, with intervals by population.

    `plain` treats all tasks as independent. `by_dataset` is a t-interval over the differences of dataset means.
    `bootstrap` has one expanded percentile interval a population.
    """

    first: str
    second: str
    mean: float
    tasks: int
    plain: Interval | Undefined
    by_dataset: Interval | Undefined
    bootstrap: dict[Population, Interval | Undefined]


def compare(
    matrix: ScoreMatrix,
    first: str,
    second: str,
    *,
    classes: ClassMatrix | None = None,
    confidence: float = 0.95,
    replicates: int = 10_000,
    seed: int = 0,
) -> PairedDifference:
    """Compare two submissions of the matrix, paired by task; all runs count alike."""
    difference = matrix.column(first) - matrix.column(second)
    pair = [matrix.keys.index(first), matrix.keys.index(second)]
    narrow, narrow_classes = matrix.submissions(pair), None if classes is None else classes.submissions(pair)
    drawn = {
        population: _bootstrap_interval(narrow, narrow_classes, population, confidence, replicates, seed)
        for population in (Population.TASKS, Population.CLASSES, Population.DATASETS)
    }
    return PairedDifference(
        first=first,
        second=second,
        mean=float(difference.mean()),
        tasks=len(difference),
        plain=_plain(difference, confidence),
        by_dataset=_by_dataset(difference, matrix, confidence),
        bootstrap=drawn,
    )


def judge(interval95: Interval, interval90: Interval, margin: float = 0.01) -> Verdict:
    """Different, equivalent within the margin, or undecided: never from overlapping intervals of two means.

    Equivalent: the 90 % interval of the difference lies within the margin (two one-sided tests at 5 %;
    Schuirmann 1987). Different: the 95 % interval excludes 0. A difference that is both counts as equivalent.
    """
    if -margin < interval90.low and interval90.high < margin:
        return "equivalent"
    return "undecided" if interval95.holds(0.0) else "different"


def percentile_interval(replicates: NDArray[np.float64], units: int, confidence: float = 0.95) -> Interval:
    """Expanded percentile interval of replicates `[B]` that rest on `units` independent ones.

    Plain percentiles are too narrow for few units. The levels are those at which a normal quantile equals
    sqrt(n / (n - 1)) t_{n-1} (Hesterberg 2015, *What Teachers Should Know About the Bootstrap*, section 4.4).
    """
    tail = float(special.ndtr(-expansion(units, confidence) * special.ndtri(0.5 + confidence / 2)))
    low, high = np.quantile(replicates, [tail, 1 - tail])
    return Interval(float(low), float(high), confidence, units)


def expansion(units: int, confidence: float = 0.95) -> float:
    """By what the deviations of a bootstrap over `units` must grow: sqrt(n / (n - 1)) t_{n-1} / z."""
    quantile = cast(float, special.stdtrit(units - 1, 0.5 + confidence / 2))
    return float(np.sqrt(units / (units - 1)) * quantile / special.ndtri(0.5 + confidence / 2))


def count_units(matrix: ScoreMatrix, population: Population, classes: ClassMatrix | None = None) -> int:
    """How many independent units a conclusion about the population rests on."""
    if population is Population.DATASETS:
        return len(matrix.datasets)
    if population is Population.SEEDS:
        return matrix.runs
    if population is Population.CLASSES and classes is not None:
        return len(classes.class_id)
    return len(matrix.scores)


def _plain(difference: NDArray[Any], confidence: float) -> Interval | Undefined:
    mean, half = t_interval(difference, confidence)
    if half is None:
        return Undefined("a single task has no interval")
    return Interval(mean - half, mean + half, confidence, len(difference))


def _by_dataset(difference: NDArray[Any], matrix: ScoreMatrix, confidence: float) -> Interval | Undefined:
    n = np.bincount(matrix.dataset, minlength=len(matrix.datasets))
    if len(n) < 2:
        return Undefined("a single dataset says nothing about others")
    means = np.bincount(matrix.dataset, difference, minlength=len(n)) / n
    # Around the mean over all tasks, which weights datasets by their tasks.
    center = float(difference.mean())
    weights = n / n.sum()
    deviation = float(np.sqrt(len(n) / (len(n) - 1) * np.sum((weights * (means - center)) ** 2)))
    half = float(cast(float, special.stdtrit(len(n) - 1, 0.5 + confidence / 2)) * deviation)
    return Interval(center - half, center + half, confidence, len(n))


def _bootstrap_interval(
    matrix: ScoreMatrix,
    classes: ClassMatrix | None,
    population: Population,
    confidence: float,
    replicates: int,
    seed: int,
) -> Interval | Undefined:
    reason = why_undefined(matrix, classes, population)
    if reason:
        return Undefined(reason)
    drawn = resample(matrix, population, classes=classes, replicates=replicates, seed=seed)
    units = count_units(matrix, population, classes)
    return percentile_interval(drawn[:, 0] - drawn[:, 1], units, confidence)


def why_undefined(matrix: ScoreMatrix, classes: ClassMatrix | None, population: Population) -> str:
    """Why nothing can be said about the population; empty if something can."""
    if population is Population.CLASSES and classes is None:
        return "the files do not say which classes the tasks have"
    if population is Population.CLASSES and classes is not None and (np.bincount(classes.dataset) < 2).any():
        return "a dataset has a single class"
    if population is Population.DATASETS and len(matrix.datasets) < 2:
        return "a single dataset says nothing about others"
    if population is Population.DATASETS and _lacks_cells(matrix):
        return "a run has no task of one of the datasets"
    if population is Population.SEEDS and matrix.runs < 2:
        return "a single run says nothing about other seeds"
    if population is Population.TASKS and len(matrix.scores) < 2:
        return "a single task says nothing about others"
    return ""


def _lacks_cells(matrix: ScoreMatrix) -> bool:
    cells = np.bincount(
        matrix.run * len(matrix.datasets) + matrix.dataset, minlength=matrix.runs * len(matrix.datasets)
    )
    return bool((cells == 0).any())
