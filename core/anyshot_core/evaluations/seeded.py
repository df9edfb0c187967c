"""The score of a submission with several seeded runs at a point: the mean of what the learner of each run scores.

A ranking rule joins the runs at each point on its own, so two of its scores can be of two learners, or of two
datasets. What is compared between points, such as what is lost on novel classes, is of the same learners.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from statistics import fmean
from typing import Any

from anyshot_core.evaluations.scores import PointScore


@dataclass(frozen=True)
class SeededScore:
    """What the learner of one seeded run scores at a point: its mean over all tasks, in normalized accuracy.

    `half_width` is of the 95 % interval over tasks, None where it is undefined; `seed_index` counts from 0.
    """

    seed_index: int
    mean: float
    half_width: float | None
    tasks: int

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SeededScore:
        """As a site wrote it, in this release or a later one."""
        return cls(**{field.name: data[field.name] for field in fields(cls)})


def mean_of_runs(score: PointScore, runs: Sequence[SeededScore], *, same_tasks: bool) -> PointScore:
    """The score with the mean over the runs as its mean; as it is without runs.

    The tasks of each run are draws of their own: the half widths add in quadrature. With `same_tasks` all runs met the
    same tasks, which count once; the mean of the half widths is then at least that of the tasks' means over the runs,
    since a standard deviation of a mean is never above the mean of the standard deviations.
    """
    if not runs:
        return score
    halves = [run.half_width for run in runs if run.half_width is not None]
    half = None
    if len(halves) == len(runs):
        half = fmean(halves) if same_tasks else math.hypot(*halves) / len(runs)
    tasks = runs[0].tasks if same_tasks else sum(run.tasks for run in runs)
    return replace(score, mean=fmean(run.mean for run in runs), half_width=half, tasks=tasks)
