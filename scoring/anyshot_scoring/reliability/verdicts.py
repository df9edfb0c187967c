"""The one verdict on paired differences: of boards, of comparisons and of reports."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from anyshot_scoring.intervals import t_interval
from anyshot_scoring.reliability.paired import Interval, Verdict, judge

MARGIN = 0.01  # of accuracy: differences below a point do not matter in practice


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
