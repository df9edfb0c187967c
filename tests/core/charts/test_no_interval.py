"""An interval that is undefined is drawn nowhere: neither of a single task nor of tasks that are all equal."""

import re

import pytest

from anyshot_core.browser_charts.numbers import group_dots
from anyshot_core.charts import draw_curves
from anyshot_scoring.summary import Group


def groups(half_width: float | None) -> list[Group]:
    return [Group(ways, 0.5, half_width, 20) for ways in (2, 5, 10)]


def test_a_chart_in_the_browser_has_no_ends_where_there_is_no_interval() -> None:
    (series,) = group_dots([*groups(None), *groups(0.0), *groups(0.25)], "ways", "score")["series"]
    assert series["low"] == [None] * 6 + [0.25] * 3 and series["high"] == [None] * 6 + [0.75] * 3


@pytest.mark.parametrize("curves", [1, 3])  # with a band, and with bars
def test_a_drawn_curve_has_no_band_and_no_bar_where_there_is_no_interval(curves: int) -> None:
    def corners(half_width: float | None) -> int:
        chart = draw_curves({f"s{i}": groups(half_width) for i in range(curves)}, "Order by ways", "ways")
        return len(re.findall("[ML] ", chart.svg))

    assert corners(0.0) == corners(None) < corners(0.25)
