"""The one judgement of paired differences, of boards, comparisons and reports: interval, p values and verdict."""

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from anyshot_scoring.intervals import t_interval
from anyshot_scoring.reliability.paired import Interval, Verdict, judge

MARGIN = 0.01  # of accuracy: differences below a point do not matter in practice


@dataclass(frozen=True)
class JudgedDifferences:
    """What differences by task say: their mean, the half width of its interval at 1 - level, p values and verdict.

    `difference_p` is that of the paired t test, `equivalence_p` the larger of the two one-sided ones (TOST; Schuirmann
    1987). For a single task there is a mean and nothing else.
    """

    mean: float
    half_width: float | None
    difference_p: float | None
    equivalence_p: float | None
    verdict: Verdict


def weigh_differences(
    differences: ArrayLike, margin: float = MARGIN, level: float = 0.05
) -> JudgedDifferences:
    """All of it, of differences by task `[T]`. Raises `ScoringError` for no difference at all."""
    values = np.asarray(differences, np.float64)
    mean, half = t_interval(values, 1 - level)
    tests = (None, None) if half is None else _p_values(values, mean, margin)
    return JudgedDifferences(mean, half, *tests, judge_differences(values, margin, level))


def _p_values(values: NDArray[np.float64], mean: float, margin: float) -> tuple[float, float]:
    """Of two tasks or more; where all differ by the same, nothing is left to chance."""
    n = len(values)
    error = 0.0 if np.ptp(values) == 0 else float(values.std(ddof=1) / np.sqrt(n))
    if error == 0:
        return float(mean == 0), float(abs(mean) >= margin)
    upper = (special.stdtr(n - 1, -x) for x in (abs(mean) / error, (margin - abs(mean)) / error))
    difference, equivalence = (cast(float, p) for p in upper)
    return float(2 * difference), float(equivalence)


def judge_differences(differences: ArrayLike, margin: float = MARGIN, level: float = 0.05) -> Verdict:
    """What differences by task `[T]` say of two that met the same tasks, by `judge` of their t-intervals.

    The intervals are at 1 - level and 1 - 2 level; for k pairs that shall hold together the level is a k-th of one's
    own (Bonferroni). A single task decides nothing. Raises `ScoringError` for no difference at all.
    """
    values, intervals = np.asarray(differences, np.float64), []
    for confidence in (1 - level, 1 - 2 * level):
        mean, half = t_interval(values, confidence)
        if half is None:
            return "undecided"
        intervals.append(Interval(mean - half, mean + half, confidence, len(values)))
    return judge(intervals[0], intervals[1], margin)
