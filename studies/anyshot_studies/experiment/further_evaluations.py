"""The further evaluations of an experiment: scores of each baseline by point, and what it loses on novel classes."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import cast

import numpy as np
from scipy import stats

from anyshot_core.evaluations import BaseClasses, NovelClasses, PointScore
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.reliability import Interval
from anyshot_scoring.table import TaskTable
from anyshot_studies.experiment.carry_out import Done, FurtherTable
from anyshot_studies.experiment.finding import FindingVerdict

CONFIDENCE = 0.95
Scores = Mapping[str, Sequence[PointScore]]


UNTRAINED = "nearest_prototype"  # class means of thumbnails: it learns nothing before a task


@dataclass(frozen=True, slots=True)
class Gap:
    """Mean on base classes minus mean on novel ones, with its 95 % interval over other tasks of both.

    The classes are those of one split, and one side may be easier for every learner. `beyond` is what is left of the
    gap when that of `UNTRAINED` on the same tasks is taken away: what training makes of it.
    """

    name: str
    difference: float
    interval: Interval
    beyond: tuple[float, Interval] | None = None

    @property
    def verdict(self) -> FindingVerdict:
        """Whether novel classes are harder."""
        return FindingVerdict.above_zero(self.interval.low, self.interval.high)


def further_scores(done: Sequence[Done]) -> dict[str, list[PointScore]]:
    """Of each baseline the points in order, over the tasks of all its seeds; failed where it failed on one."""
    return {
        name: [_pooled(parts) for parts in points.values()] for name, points in _by_baseline(done).items()
    }


def gaps(done: Sequence[Done]) -> list[Gap]:
    """What each baseline loses from base to novel classes, where it was tested on both."""
    sides: dict[str, list[TaskTable]] = {}
    for name, points in _by_baseline(done).items():
        tables = [_tasks(points, kind) for kind in (BaseClasses, NovelClasses)]
        if None not in tables:
            sides[name] = [table for table in tables if table is not None]
    return [
        Gap(name, *welch(*(side.normalized_accuracy for side in own)), _beyond(own, sides.get(UNTRAINED, ())))
        for name, own in sides.items()
    ]


def _beyond(own: Sequence[TaskTable], control: Sequence[TaskTable]) -> tuple[float, Interval] | None:
    """Of the differences on each task; None without an untrained learner on the same tasks."""
    pairs = list(zip(own, control, strict=False))
    if not pairs or own is control or not all(_same_tasks(*pair) for pair in pairs):
        return None
    return welch(*(one.normalized_accuracy - other.normalized_accuracy for one, other in pairs))


def _same_tasks(one: TaskTable, other: TaskTable) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("task", "dataset", "ways", "shots")
    )


def welch(first: np.ndarray, second: np.ndarray) -> tuple[float, Interval]:
    """Difference of two means of independent samples and its 95 % interval (Welch 1947, unequal variances)."""
    parts = [(values.var(ddof=1) / len(values), len(values) - 1) for values in (first, second)]
    variance, units = sum(part for part, _ in parts), len(first) + len(second)
    difference = float(first.mean() - second.mean())
    if variance == 0:
        return difference, Interval(difference, difference, CONFIDENCE, units)
    freedom = variance**2 / sum(part**2 / rest for part, rest in parts)
    half = cast(float, stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) * sqrt(variance)
    return difference, Interval(difference - half, difference + half, CONFIDENCE, units)


def write_further(scores: Scores, folder: Path) -> None:
    """`evaluations.csv` and `evaluations.json`: a row for each baseline and point."""
    rows = [{"baseline": name} | score.to_dict() for name, own in scores.items() for score in own]
    if not rows:
        return
    with (folder / "evaluations.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (folder / "evaluations.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def _by_baseline(done: Sequence[Done]) -> dict[str, dict[str, list[FurtherTable]]]:
    found: dict[str, dict[str, list[FurtherTable]]] = {}
    for run in done:
        for name, part in run.further.items():
            found.setdefault(run.name, {}).setdefault(name, []).append(part)
    return found


def _pooled(parts: Sequence[FurtherTable]) -> PointScore:
    first, tables = parts[0], [part.table for part in parts if part.table is not None]
    failed = next((part.message for part in parts if part.table is None), "")
    empty = PointScore.of(first.evaluation, first.point, None, failed)
    if failed or not tables:
        return empty
    values = TaskTable.concatenate(tables).normalized_accuracy
    mean, half_width = t_interval(values)
    return replace(empty, mean=mean, half_width=half_width, tasks=len(values))


def _tasks(points: Mapping[str, Sequence[FurtherTable]], kind: type) -> TaskTable | None:
    """All tasks of the first evaluation of that kind; None where a seed lacks it."""
    for parts in points.values():
        tables = [part.table for part in parts if part.table is not None]
        if isinstance(parts[0].evaluation, kind) and len(tables) == len(parts):
            return TaskTable.concatenate(tables)
    return None
