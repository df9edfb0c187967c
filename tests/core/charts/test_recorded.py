"""A chart is drawn again from its data, through JSON, to the same bytes."""

import json

import numpy as np
import pytest

from anyshot_core.charts import (
    Bar,
    Chart,
    RankBar,
    ReliabilityBin,
    UnknownChart,
    draw_bars,
    draw_critical_difference,
    draw_curves,
    draw_difficulty,
    draw_distributions,
    draw_heat_map,
    draw_rank_intervals,
    draw_reliability,
    redraw,
)
from anyshot_scoring.difficulty import measure_difficulty
from anyshot_scoring.summary import Group

RNG = np.random.default_rng(0)
CHARTS = {
    "bars": lambda: draw_bars([Bar("a & b", 0.5, 0.1), Group("c", -0.2, None, 9)], "Bars"),
    "curves": lambda: draw_curves({"x": [Group(1, 0.3, 0.1, 5), Group(2, 0.4, None, 5)]}, "Curves", "ways"),
    "histograms": lambda: draw_distributions({"x": RNG.normal(size=80), "y": RNG.normal(size=50)}, "Many"),
    "dots": lambda: draw_distributions({"x": [0.1, 0.2, 0.2]}, "Few"),
    "nothing": lambda: draw_distributions({}, "None"),
    "heat map": lambda: draw_heat_map(
        np.array([[0.1, np.nan], [0.3, 0.4]]), ["a", "b"], "Map", "share", low=0
    ),
    "difficulty": lambda: draw_difficulty(measure_difficulty({"a": {"S": 0.2}, "b": {"S": 0.6}})),
    "ranks": lambda: draw_rank_intervals([RankBar("a", 1, 1, 2, 0.6)], "Ranks", "other tasks"),
    "critical": lambda: draw_critical_difference(["a", "b"], [1.2, 1.8], [(0, 1)], 0.9, "Critical"),
    "reliability": lambda: draw_reliability({"m": [ReliabilityBin(0.2, 0.3, 0.1, 40)]}, "Reliability"),
}


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_is_drawn_again_from_its_data(name: str) -> None:
    chart: Chart = CHARTS[name]()
    assert chart.data is not None
    assert redraw(json.loads(json.dumps(chart.data, allow_nan=False))).svg == chart.svg


def test_a_histogram_holds_no_value_of_a_task() -> None:
    values = RNG.normal(size=500)
    text = json.dumps(draw_distributions({"x": values}, "Many").data)
    assert len(text) < 2500 and not any(repr(float(v)) in text for v in np.sort(values)[1:-1])


def test_data_that_nothing_draws_are_refused_in_words() -> None:
    with pytest.raises(UnknownChart, match="no chart is called 'pie'; there are bars"):
        redraw({"kind": "pie"})
