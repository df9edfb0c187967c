"""Charts as numbers: what the browser draws, and the table that stands for it without JavaScript."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyshot_core.browser_charts.numbers import (
    MOST_DOTS,
    group_dots,
    group_line,
    leaves_dots_out,
    task_dots,
    task_spread,
)
from anyshot_platform.foundation.filters import interval, join_texts, score
from anyshot_scoring.summary import Group

SCORE = "Normalized accuracy"
_TABLE_ROWS = 40
Row = tuple[Any, ...]


@dataclass(frozen=True)
class ChartView:
    """A chart: `data` as `static/js/charts.js` of `browser_charts` reads it, and the same figures as a table.

    `key` names a chart that grows while a run lasts, `epoch` says which of the run's attempts it shows.
    """

    title: str
    data: dict[str, Any]
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    note: str = ""
    key: str = ""
    epoch: int | None = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw yet."""
        return not self.data["at"]


def of_groups(title: str, key: str, groups: Sequence[Group]) -> ChartView:
    """A dot with its 95 % interval for each group; no interval where it is undefined."""
    data = group_dots(groups, key, SCORE)
    return ChartView(title, data, (key, SCORE, "95 %", "Tasks"), group_rows(groups))


def over_numbers(title: str, key: str, groups: Sequence[Group]) -> ChartView:
    """A line over ways or shots; groups of fewer than five tasks are joined with their neighbours."""
    data = group_line(groups, key, SCORE)
    joined = len(data["at"]) < len(groups)
    note = "Points of fewer than 5 tasks are joined with their neighbours." if joined else ""
    return ChartView(title, data, (key, SCORE, "95 %", "Tasks"), group_rows(groups), note)


def of_tasks(title: str, values: Mapping[str, np.ndarray]) -> ChartView:
    """A dot a task, side by side in the place of its dataset; of many tasks of a dataset evenly many by rank."""
    rows = tuple((name, *map(score, five), tasks) for name, five, tasks in task_spread(values))
    note = join_texts(
        (
            "One dot a task.",
            (
                (f"Of datasets with more than {MOST_DOTS} tasks, {MOST_DOTS} are drawn, evenly by rank.")
                if leaves_dots_out(values)
                else ""
            ),
        )
    )
    columns = (
        "Dataset",
        "Lowest",
        "Quarter",
        "Median",
        "Three quarters",
        "Highest",
        "Tasks",
    )
    return ChartView(title, task_dots(values, "Dataset", SCORE), columns, rows, note)


def group_rows(groups: Sequence[Group]) -> tuple[Row, ...]:
    """Groups as rows of a table."""
    return tuple((group.key, score(group.mean), interval(group.half_width), group.tasks) for group in groups)


def thinned(rows: Sequence[Row]) -> Sequence[Row]:
    """At most so many rows that a table of them can be read, evenly, with the first and the last."""
    if len(rows) <= _TABLE_ROWS:
        return rows
    places = np.linspace(0, len(rows) - 1, _TABLE_ROWS).round().astype(int)
    return [rows[int(place)] for place in places]
