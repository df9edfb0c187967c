"""The figures of an experiment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from anyshot_core.charts import Bar, Chart, draw_bars, draw_curves, draw_difficulty
from anyshot_scoring.difficulty import measure_difficulty
from anyshot_scoring.intervals import t_half_width
from anyshot_scoring.summary import Group
from anyshot_studies.experiment.arms import PRETRAINED
from anyshot_studies.experiment.tables import BaselineTasks, group

LEAST = 8  # tasks of a point of a curve: the interval of two is as wide as the chart
_TOGETHER = f"with fewer than {LEAST}, neighbouring numbers are one point. The intervals are 95 % over tasks."


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart and a sentence on how to read it."""

    chart: Chart
    words: str


def draw_figures(entries: Sequence[BaselineTasks]) -> dict[str, Figure]:
    """Bars, curves over ways and shots, and the difficulty of the datasets; by file name."""
    totals = [(entry.label, group(entry.table, "all")[0]) for entry in entries]
    bars = [Bar(label, total.mean, total.half_width) for label, total in totals]
    figures = {
        "bars": Figure(
            draw_bars(bars, "Baselines on this pool"),
            "Mean over all tasks of all seeds; 0 is chance, 1 is perfect. The intervals are over tasks: overlapping"
            " ones may still differ, which only the paired differences tell.",
        ),
        "ways": Figure(_curves(entries, "ways"), f"Mean over the tasks with so many classes; {_TOGETHER}"),
        "shots": Figure(
            _curves(entries, "shots"),
            f"Mean over the tasks with so many labelled images a class; {_TOGETHER}",
        ),
    }
    parts = {
        entry.name: group(entry.table, "dataset")
        for entry in entries
        if entry.name != "random" and entry.seeds == entry.of
    }
    scores = {name: {str(g.key): g.mean for g in own} for name, own in parts.items()}
    halves = {name: {str(g.key): g.half_width for g in own} for name, own in parts.items()}
    if scores:
        best, worst = _extremes(scores)
        figures["difficulty"] = Figure(
            draw_difficulty(measure_difficulty(scores, best, worst, halves), who="baseline"),
            f"Intrinsic: what {best or 'the best baseline on it'} leaves to win. Modelling: by how much it is above"
            f" {worst or 'the worst'}. The intervals are 95 % over tasks; those of a difference take its two for"
            " independent, which is the wider side.",
        )
    return figures


def _curves(entries: Sequence[BaselineTasks], by: str) -> Chart:
    return draw_curves(
        {entry.label: together(group(entry.table, by)) for entry in entries}, f"By number of {by}", by
    )


def together(groups: Sequence[Group]) -> list[Group]:
    """Groups whose keys are numbers, neighbours as one until each has `LEAST` tasks, at the mean of their numbers.

    Means and intervals are those of the tasks of both, since the spread within the groups follows from their own.
    """
    found, waiting = list[list[Group]](), list[Group]()
    for one in sorted(groups, key=lambda own: int(own.key)):
        waiting.append(one)
        if sum(own.tasks for own in waiting) >= LEAST:
            found.append(waiting)
            waiting = []
    if waiting:  # too few at the end
        found[-1:] = [[*(found[-1] if found else []), *waiting]]
    return [own[0] if len(own) == 1 else _joined(own) for own in found]


def _joined(groups: Sequence[Group]) -> Group:
    tasks = np.array([own.tasks for own in groups])
    means = np.array([own.mean for own in groups])
    whole, mean = int(tasks.sum()), float(np.average(means, weights=tasks))
    inside = sum(_squares(own) for own in groups)
    deviation = float(np.sqrt((inside + (tasks * (means - mean) ** 2).sum()) / (whole - 1)))
    key = round(float(np.average([int(own.key) for own in groups], weights=tasks)))
    return Group(key, mean, t_half_width(deviation, whole), whole)


def _squares(own: Group) -> float:
    """The sum of squared distances of a group's tasks from their mean."""
    if not own.half_width:
        return 0.0
    return (own.tasks - 1) * (own.half_width / (t_half_width(1.0, own.tasks) or 1.0)) ** 2


def _extremes(scores: Mapping[str, object]) -> tuple[str | None, str | None]:
    """The paper's two baselines where they are here, else the best and worst on each dataset."""
    best = f"metadelta ({PRETRAINED})"
    return best if best in scores else None, "train_from_scratch" if "train_from_scratch" in scores else None
