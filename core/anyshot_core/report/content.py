"""What the report of a run says, before it becomes HTML or text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyshot_core.browser_charts.numbers import (
    group_dots,
    group_line,
    leaves_dots_out,
    task_dots,
    task_spread,
)
from anyshot_core.metric_titles import METRIC_TITLES
from anyshot_scoring.summary import Group, RunSummary
from anyshot_scoring.table import TaskTable


@dataclass(frozen=True)
class Breakdown:
    """Means by one property of the tasks, as a table and as the numbers of a chart; `joined` if it pools groups."""

    title: str
    key: str
    groups: tuple[Group, ...]
    chart: Mapping[str, Any]
    joined: bool = False


@dataclass(frozen=True)
class SpreadOfTasks:
    """All tasks by dataset, as the numbers of a chart, and as a table of quartiles; `thinned` if dots are left out."""

    chart: Mapping[str, Any]
    rows: tuple[tuple[str, Sequence[float], int], ...]
    thinned: bool


@dataclass(frozen=True)
class SecondsRow:
    """Seconds of one step a task: median, 95th percentile, maximum, and the sum over all tasks."""

    step: str
    median: float
    p95: float
    maximum: float
    total: float


@dataclass(frozen=True)
class RunReport:
    """Everything that page, section and text show."""

    title: str
    metric: str
    summary: RunSummary
    facts: tuple[tuple[str, str], ...]
    metrics: tuple[Group, ...]
    breakdowns: tuple[Breakdown, ...]
    distribution: SpreadOfTasks | None
    seconds: tuple[SecondsRow, ...]


def build_report(
    summary: RunSummary, table: TaskTable, meta: Mapping[str, Any], *, single_tasks: bool = True
) -> RunReport:
    """Put the report together.

    `meta["title"]` is the heading ("Results" without it); every other text or number of `meta` is listed. Without
    `single_tasks` nothing can be read off it that is about one task: a phase that is open shows groups of tasks only.
    """
    metric = METRIC_TITLES[summary.metric]
    return RunReport(
        title=str(meta.get("title", "Results")),
        metric=metric,
        summary=summary,
        facts=tuple((_words(key), str(value)) for key, value in meta.items() if _is_fact(key, value)),
        metrics=tuple(
            Group(METRIC_TITLES[str(g.key)], g.mean, g.half_width, g.tasks) for g in summary.metrics
        ),
        breakdowns=_breakdowns(summary, metric),
        distribution=_distribution(table, summary.metric) if single_tasks else None,
        seconds=(_seconds("fit", table.fit_seconds), _seconds("predict", table.predict_seconds)),
    )


def _breakdowns(summary: RunSummary, metric: str) -> tuple[Breakdown, ...]:
    made = [
        _dots("By dataset", "Dataset", summary.by_dataset, metric),
    ]
    if len(summary.by_domain) > 1 or any(group.key for group in summary.by_domain):
        made.append(_dots("By domain", "Domain", summary.by_domain, metric))
    for title, key, groups in (
        ("By number of ways", "Ways", summary.by_ways),
        ("By number of shots", "Shots", summary.by_shots),
    ):
        chart = group_line(groups, key, metric)
        made.append(Breakdown(title, key, groups, chart, joined=len(chart["at"]) < len(groups)))
    return tuple(made)


def _dots(title: str, key: str, groups: tuple[Group, ...], metric: str) -> Breakdown:
    return Breakdown(title, key, groups, group_dots(groups, key, metric))


def _distribution(table: TaskTable, metric: str) -> SpreadOfTasks:
    values = _by_dataset(table, metric)
    chart = task_dots(values, "Dataset", METRIC_TITLES[metric])
    return SpreadOfTasks(chart, tuple(task_spread(values)), leaves_dots_out(values))


def _by_dataset(table: TaskTable, metric: str) -> dict[str, NDArray[np.float64]]:
    scores = getattr(table, metric)
    return {str(name): scores[table.dataset == name] for name in np.unique(table.dataset)}


def _seconds(step: str, seconds: NDArray[np.float64]) -> SecondsRow:
    median, p95, maximum = np.percentile(seconds, [50, 95, 100])
    return SecondsRow(step, float(median), float(p95), float(maximum), float(seconds.sum()))


def _is_fact(key: str, value: object) -> bool:
    return key != "title" and isinstance(value, str | int | float) and value != ""


def _words(key: str) -> str:
    return key.replace("_", " ").capitalize()
