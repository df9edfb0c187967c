"""Charts as numbers, as `static/js/charts.js` reads them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anyshot_scoring.pooling import pool_groups
from anyshot_scoring.summary import Group

MOST_DOTS = 80  # of one dataset: more would be one blot
_MOST_PAIRS = 1000
_QUANTILES = (0, 0.25, 0.5, 0.75, 1)


def known_half(half_width: float | None) -> float | None:
    """None where an interval is undefined: of a single task, and of equal ones, which say nothing of others."""
    return half_width or None


def interval_ends(
    means: Sequence[float | None], halves: Sequence[float | None]
) -> dict[str, list[float | None]]:
    """The `low` and `high` of a series; None where there is no mean or its interval is undefined."""
    known = [
        None if mean is None or (own := known_half(half)) is None else (mean - own, mean + own)
        for mean, half in zip(means, halves, strict=True)
    ]
    return {name: [ends and ends[place] for ends in known] for place, name in enumerate(("low", "high"))}


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


def group_dots(groups: Sequence[Group], x: str, y: str) -> dict[str, Any]:
    """A dot with its 95 % interval for each group; no interval where it is undefined."""
    names = [str(group.key) for group in groups]
    return chart_data(range(len(groups)), [_series(groups, y)], x=x, y=y, x_kind="names", names=names)


def group_line(groups: Sequence[Group], x: str, y: str) -> dict[str, Any]:
    """A line over ways or shots; groups of fewer than five tasks are joined with their neighbours."""
    pooled = pool_groups(groups)
    at = [float(group.key) for group in pooled]
    return chart_data(at, [{**_series(pooled, y), "line": True}], x=x, y=y, x_kind="whole")


def side_by_side(curves: Mapping[str, Sequence[Group]], x: str, y: str) -> dict[str, Any]:
    """A line for each name over the places that any of them has; a name without a place has a gap there."""
    at = sorted({float(group.key) for groups in curves.values() for group in groups})
    series = []
    for name, groups in curves.items():
        known = {float(group.key): group for group in groups}
        found = [known.get(place) for place in at]
        series.append({**_series(found, name), "line": True})
    whole = all(place.is_integer() for place in at)
    return chart_data(at, series, x=x, y=y, x_kind="whole" if whole else "number")


def cell_map(
    values: np.ndarray, rows: Sequence[str], across: Sequence[str], *, x: str, y: str, cell: str
) -> dict[str, Any]:
    """Shares `[len(rows), len(across)]` as cells, the stronger the higher; NaN is an empty cell."""
    shares = [[None if np.isnan(value) else round(float(value), 4) for value in row] for row in values]
    data = chart_data(range(len(across)), [], x=x, y=y, x_kind="names", y_kind="share", names=across)
    return {**data, "cells": {"label": cell, "rows": list(rows), "values": shares}}


def task_dots(values: Mapping[str, np.ndarray], x: str, y: str) -> dict[str, Any]:
    """A dot a task, side by side in the place of its dataset; of many tasks of a dataset evenly many by rank."""
    dots = sorted(
        (place + ((number * 0.618034) % 1 - 0.5) * 0.6, float(value))
        for place, found in enumerate(values.values())
        for number, value in enumerate(_evenly(np.sort(found)))
    )
    series = {"label": y, "values": [round(value, 4) for _, value in dots]}
    at = [round(place, 3) for place, _ in dots]
    return chart_data(at, [series], x=x, y=y, x_kind="names", names=list(values))


def scatter(first: np.ndarray, second: np.ndarray, x: str, y: str, equal: str) -> dict[str, Any]:
    """A dot a task at its two values, and the line on which both are equal; of many tasks evenly many by the first."""
    order = np.argsort(first, kind="stable")
    if len(order) > _MOST_PAIRS:
        order = order[np.linspace(0, len(order) - 1, _MOST_PAIRS).round().astype(int)]
    at = np.round(first[order], 4).tolist()
    dots = {"label": y, "values": np.round(second[order], 4).tolist()}
    line = {"label": equal, "values": at, "line": True, "bare": True}
    return chart_data(at, [dots, line], x=x, y=y, x_kind="score")


def task_spread(values: Mapping[str, np.ndarray]) -> list[tuple[str, list[float], int]]:
    """Of each dataset the lowest value, the quartiles and the highest, and the number of its tasks."""
    return [
        (name, [float(q) for q in np.quantile(found, _QUANTILES)], len(found))
        for name, found in values.items()
        if len(found)
    ]


def leaves_dots_out(values: Mapping[str, np.ndarray]) -> bool:
    """Whether a dataset has more tasks than are drawn of it."""
    return any(len(found) > MOST_DOTS for found in values.values())


def _evenly(ranked: np.ndarray) -> np.ndarray:
    if len(ranked) <= MOST_DOTS:
        return ranked
    return ranked[np.linspace(0, len(ranked) - 1, MOST_DOTS).round().astype(int)]


def _series(groups: Sequence[Group | None], label: str) -> dict[str, Any]:
    """The means and the ends of their intervals; None where an interval is undefined, or there is no group."""
    means = [None if group is None else group.mean for group in groups]
    halves = [None if group is None else group.half_width for group in groups]
    return {"label": label, "values": means, **interval_ends(means, halves)}
