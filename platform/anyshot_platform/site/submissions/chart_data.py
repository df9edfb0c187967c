"""Charts as numbers: what the browser draws, and the table that stands for it without JavaScript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyshot_platform.kernel.filters import interval, score
from anyshot_platform.kernel.language import say, together
from anyshot_scoring.pooling import pool_groups
from anyshot_scoring.summary import Group

SCORE = say("Normalized accuracy")
MOST_DOTS = 80  # of one dataset: more would be one blot
_TABLE_ROWS = 40
Row = tuple[Any, ...]


@dataclass(frozen=True)
class ChartView:
    """A chart: `data` as `static/js/charts.js` reads it, and the same figures as a table.

    `key` names a chart that grows while a run lasts.
    """

    title: str
    data: dict[str, Any]
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    note: str = ""
    key: str = ""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw yet."""
        return not self.data["at"]


def chart_data(
    at: Sequence[float],
    series: Sequence[Mapping[str, Any]],
    *,
    x: str,
    y: str,
    x_kind: str = "number",
    y_kind: str = "score",
    names: Sequence[str] = (),
    limit: float | None = None,
) -> dict[str, Any]:
    """`at` are the places along x, ascending. Each series has `label`, `values` and, where known, `low` and `high`;
    None is a gap. `names` are categories, x then counts them from 0. `limit` is drawn as a line across.
    """
    return {
        "at": list(at),
        "series": list(series),
        "x": {"label": x, "kind": x_kind, "names": list(names)},
        "y": {"label": y, "kind": y_kind},
        "limit": limit,
    }


def of_groups(title: str, key: str, groups: Sequence[Group]) -> ChartView:
    """A dot with its 95 % interval for each group; no interval where it is undefined."""
    names = [str(group.key) for group in groups]
    data = chart_data(range(len(groups)), [_series(groups)], x=key, y=SCORE, x_kind="names", names=names)
    return ChartView(title, data, (key, SCORE, "95 %", say("Tasks")), group_rows(groups))


def over_numbers(title: str, key: str, groups: Sequence[Group]) -> ChartView:
    """A line over ways or shots; groups of fewer than five tasks are joined with their neighbours."""
    pooled = pool_groups(groups)
    note = (
        say("Points of fewer than 5 tasks are joined with their neighbours.")
        if len(pooled) < len(groups)
        else ""
    )
    data = chart_data(
        [float(group.key) for group in pooled],
        [{**_series(pooled), "line": True}],
        x=key,
        y=SCORE,
    )
    return ChartView(title, data, (key, SCORE, "95 %", say("Tasks")), group_rows(groups), note)


def of_tasks(title: str, values: Mapping[str, np.ndarray]) -> ChartView:
    """A dot a task, side by side in the place of its dataset; of many tasks of a dataset evenly many by rank."""
    dots: list[tuple[float, float]] = []
    left_out = False
    for place, found in enumerate(values.values()):
        ranked = np.sort(found)
        if len(ranked) > MOST_DOTS:
            left_out = True
            ranked = ranked[np.linspace(0, len(ranked) - 1, MOST_DOTS).round().astype(int)]
        dots += [
            (place + ((number * 0.618034) % 1 - 0.5) * 0.6, float(value))
            for number, value in enumerate(ranked)
        ]
    dots.sort()
    data = chart_data(
        [round(x, 3) for x, _ in dots],
        [{"label": SCORE, "values": [round(y, 4) for _, y in dots]}],
        x=say("Dataset"),
        y=SCORE,
        x_kind="names",
        names=list(values),
    )
    rows = tuple(
        (name, *(score(float(q)) for q in np.quantile(found, (0, 0.25, 0.5, 0.75, 1))), len(found))
        for name, found in values.items()
        if len(found)
    )
    note = together(
        (
            say("One dot a task."),
            (
                say(
                    "Of datasets with more than %(most_dots)s tasks, %(most_dots)s are drawn, evenly by "
                    "rank.",
                    most_dots=MOST_DOTS,
                )
                if left_out
                else ""
            ),
        )
    )
    columns = (
        say("Dataset"),
        say("Lowest"),
        say("Quarter"),
        say("Median"),
        say("Three quarters"),
        say("Highest"),
        say("Tasks"),
    )
    return ChartView(title, data, columns, rows, note)


def _series(groups: Sequence[Group]) -> dict[str, Any]:
    """The means and the ends of their intervals; None where an interval is undefined."""
    return {
        "label": SCORE,
        "values": [group.mean for group in groups],
        "low": [None if group.half_width is None else group.mean - group.half_width for group in groups],
        "high": [None if group.half_width is None else group.mean + group.half_width for group in groups],
    }


def group_rows(groups: Sequence[Group]) -> tuple[Row, ...]:
    """Groups as rows of a table."""
    return tuple((group.key, score(group.mean), interval(group.half_width), group.tasks) for group in groups)


def thinned(rows: Sequence[Row]) -> Sequence[Row]:
    """At most so many rows that a table of them can be read, evenly, with the first and the last."""
    if len(rows) <= _TABLE_ROWS:
        return rows
    places = np.linspace(0, len(rows) - 1, _TABLE_ROWS).round().astype(int)
    return [rows[int(place)] for place in places]
