"""Estimates say all that a reader needs; found beside published follows a rule."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from anyshot_core.charts import Bar, draw_bars
from anyshot_core.report.estimates import (
    BadEstimate,
    Estimate,
    around,
    check,
    exact,
    mean,
    resampled,
    share,
    undefined,
)
from anyshot_core.report.pages import half_words
from anyshot_core.report.published_values import (
    BadPublished,
    Published,
    Reproduced,
    decide,
    published_table,
    verdicts_of,
)
from anyshot_core.report.storage import estimates_table, table_markup
from anyshot_platform.foundation.filters import interval
from anyshot_scoring.undefined import Undefined


def test_an_estimate_without_unit_or_population_is_refused() -> None:
    for gap in ({"unit": ""}, {"population": ""}, {"name": ""}):
        with pytest.raises(BadEstimate):
            Estimate(
                **{"name": "a", "value": 1.0, "interval": (0, 2), "unit": "points", "population": "p", **gap}
            )
    with pytest.raises(BadEstimate, match="at least one"):
        check([])
    with pytest.raises(BadEstimate, match="two estimates are called a"):
        check([exact("a", 1, "points", "p"), exact("a", 2, "points", "p")])


def test_estimates_survive_json() -> None:
    for one in (
        mean("a", [1, 2, 4], "points", "tasks", scale=100),
        undefined("b", "no task", "points", "tasks"),
    ):
        assert Estimate.from_dict(one.to_dict()) == one


def test_intervals_are_those_of_their_definitions() -> None:
    values = np.random.default_rng(0).normal(size=40)
    found = mean("a", values, "points", "tasks", scale=100).interval
    assert found == pytest.approx(
        stats.t.interval(0.95, 39, 100 * values.mean(), 100 * values.std(ddof=1) / np.sqrt(40)), rel=1e-12
    )
    wilson = stats.binomtest(7, 50).proportion_ci(method="wilson")
    assert share("b", 7, 50, "draws").interval == pytest.approx((wilson.low, wilson.high), rel=1e-12)
    assert share("c", 0, 50, "draws").interval[0] == 0.0  # pyright: ignore[reportIndexIssue]
    assert isinstance(share("d", 0, 0, "draws").value, Undefined)
    many = resampled("e", 0.5, [Undefined("x")] * 50 + [0.1] * 50, "points", "tasks")
    assert isinstance(many.interval, Undefined)


def found(value: float, half: float | None) -> Estimate:
    interval = Undefined("exact: nothing is sampled") if half is None else (value - half, value + half)
    return Estimate("x", value, interval, "points", "tasks")


@pytest.mark.parametrize(
    ("row", "value", "half", "verdict"),
    [
        ({"value": 10.0, "margin": 1.0}, 10.2, 0.5, Reproduced.YES),
        ({"value": 10.0, "margin": 1.0}, 10.6, 0.5, Reproduced.UNDECIDED),  # part of the interval is outside
        ({"value": 10.0, "margin": 1.0}, 12.0, 0.5, Reproduced.NO),
        ({"value": 10.0, "margin": 1.0}, 8.0, 0.5, Reproduced.NO),
        ({"value": 10.0, "margin": 1.0, "half_width": 3.0}, 12.0, 0.5, Reproduced.UNDECIDED),
        ({"value": 10.0, "margin": 1.0}, 10.9, None, Reproduced.YES),  # exact: its own interval
        ({"above": 0.0}, 1.0, 0.5, Reproduced.YES),
        ({"above": 0.0}, 1.0, 2.0, Reproduced.UNDECIDED),
        ({"above": 0.0}, -1.0, 0.5, Reproduced.NO),
        ({"below": 5.0}, 1.0, 0.5, Reproduced.YES),
        ({"below": 0.0}, 1.0, 0.5, Reproduced.NO),
    ],
)
def test_the_rule_of_reproduction(
    row: dict[str, float], value: float, half: float | None, verdict: Reproduced
) -> None:
    published = Published("r", "x", "paper", "table 1", "row", **row)  # pyright: ignore[reportArgumentType]
    assert decide(published, found(value, half)) is verdict


def test_what_was_sampled_without_an_interval_decides_nothing() -> None:
    published = Published("r", "x", "paper", "table 1", "row", value=1.0, margin=5.0)
    one = Estimate("x", 1.0, Undefined("one run"), "points", "tasks")
    assert decide(published, one) is Reproduced.UNDECIDED
    none = Estimate("x", Undefined("no task"), Undefined("no task"), "points", "tasks")
    assert decide(published, none) is Reproduced.UNDECIDED


def test_a_row_that_says_too_little_is_refused() -> None:
    with pytest.raises(BadPublished, match="one of value, above and below"):
        Published("r", "x", "paper", "table 1", "row")
    with pytest.raises(BadPublished, match="margin"):
        Published("r", "x", "paper", "table 1", "row", value=1.0)
    with pytest.raises(BadPublished, match="says its paper"):
        Published("r", "x", "paper", "", "row", above=0.0)
    with pytest.raises(BadPublished, match="no estimate 'x'; it has 'y'"):
        row = Published("r", "x", "paper", "table 1", "row", above=0.0)
        verdicts_of("r", {"estimates": [exact("y", 1, "points", "p").to_dict()]}, [row])


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (Estimate("x", 1.0, Undefined("one run"), "points", "tasks"), "no interval: one run"),
        (
            Estimate("x", Undefined("no task"), Undefined("no task"), "points", "tasks"),
            "no estimate: no task",
        ),
        (Estimate("x", 1.0, (0.4, 1.6), "points", "tasks"), "the interval reaches over the margin"),
    ],
)
def test_what_keeps_an_estimate_from_deciding_is_said(one: Estimate, why: str) -> None:
    """A control without an interval explains nothing."""
    row = Published("r", "x", "paper", "table 1", "row", value=1.0, margin=0.5, control="c")
    control = Estimate("c", 1.0, Undefined("one run"), "points", "tasks")
    (told,) = verdicts_of("r", {"estimates": [one.to_dict(), control.to_dict()]}, [row])
    assert (told.verdict, told.why) == (Reproduced.UNDECIDED, why)


def test_each_row_stands_beside_the_estimate_that_it_names() -> None:
    """Whichever comes first in the report, and however near another is to what was printed."""
    estimates = [
        around(name, value, 0.1, "points", "p").to_dict() for name, value in (("x", 1.0), ("y", 3.0))
    ]
    rows = [Published("r", name, "paper", "table 1", name, value=1.0, margin=0.5) for name in ("y", "x")]
    found = verdicts_of("r", {"estimates": estimates}, rows)
    assert [(one.found.name, one.verdict) for one in found] == [("y", Reproduced.NO), ("x", Reproduced.YES)]


def test_a_page_says_of_each_estimate_what_it_is_of_and_how_it_was_picked() -> None:
    """A leader's number looks better than it is, and its row says so."""
    made = [around("a", 1.0, 0.5, "points", "other tasks", selected="best of 3 on these tasks")]
    made.append(undefined("b", "a single task", "points", "other datasets"))
    table = estimates_table([one.to_dict() for one in made])
    assert table["header"] == ("what", "estimate", "95 % interval", "unit", "population", "selected")
    page = " ".join(table_markup(table).split())
    for words in (
        "<td>other tasks</td>",
        "<td>best of 3 on these tasks</td>",
        "<td>other datasets</td>",
        "<td>no</td>",
    ):
        assert words in page, page
    assert "0.5 to 1.5" in page and "a single task" in page


def seen(
    row: dict[str, Any], value: float, half: float | None, others: dict[str, float] | None = None
) -> dict[str, str]:
    """The row that a reader sees, of a stored report with two conditions and estimates of half width 0.1."""
    known = {"x": (value, half)} | {name: (own, 0.1) for name, own in (others or {}).items()}
    estimates = [around(name, *own, "points", "tasks").to_dict() for name, own in known.items()]
    conditions = {
        "600 tasks": {"met": False, "found": "40 tasks"},
        "converged": {"met": True, "found": "at 90"},
    }
    summary = {"estimates": estimates, "result": {"conditions": conditions}}
    rows = [Published("r", "x", "paper", "table 1", "row", **row)]
    table = published_table(verdicts_of("r", summary, rows))
    return dict(zip(table["header"], table["rows"][0], strict=True))


VALUE = {"value": 1.0, "margin": 0.5}


@pytest.mark.parametrize(
    ("row", "value", "half", "others", "words"),
    [
        (VALUE | {"conditions": ["converged"], "sizes": ["600 tasks"]}, 1.1, 0.1, {}, ""),
        (VALUE | {"conditions": ["600 tasks"]}, 1.1, 0.1, {}, "the numbers agree, but settings differ"),
        (VALUE | {"conditions": ["600 tasks", "converged"]}, 3, 0.1, {}, "settings differ"),
        (VALUE | {"sizes": ["600 tasks"]}, 3, 0.1, {}, "nothing stored says why"),
        ({"above": 0.0, "conditions": ["600 tasks"]}, 1.1, 0.1, {}, ""),
        (
            VALUE | {"conditions": ["converged"]},
            3,
            0.1,
            {},
            "all conditions are met (converged): nothing stored says why",
        ),
        (VALUE, 3, 0.1, {}, "nothing stored says why"),
        (VALUE, 1.4, 0.3, {}, "the interval reaches over the margin"),
        ({"above": 0.0}, 0.1, 0.3, {}, "the interval has both sides in it"),
        (VALUE, 3, None, {}, "no interval: a single value has no spread"),
        (VALUE | {"instead": "with C 100"}, 3, 0.1, {"with C 100": 1.0}, "with C 100: agrees"),
        (VALUE | {"instead": "with C 100"}, 3, 0.1, {"with C 100": 3.0}, "with C 100: differs"),
        (VALUE | {"control": "noise"}, 3, 0.1, {"noise": 3.1}, "no other than noise"),
        (VALUE | {"control": "noise"}, 3, 0.1, {"noise": 2.0}, "nothing stored says why"),
    ],
)
def test_why_a_row_is_not_reproduced_follows_from_what_is_stored(
    row: dict[str, Any], value: float, half: float | None, others: dict[str, float], words: str
) -> None:
    assert seen(row, value, half, others)["why"] == words


@pytest.mark.parametrize(
    ("row", "value", "verdict", "differs"),
    [
        (VALUE | {"conditions": ["converged"]}, 1.1, "reproduced", ""),
        (VALUE | {"conditions": ["600 tasks"]}, 1.1, "undecided", "600 tasks (here 40 tasks)"),
        (VALUE | {"conditions": ["600 tasks"]}, 3.0, "not reproduced", "600 tasks (here 40 tasks)"),
        (VALUE | {"sizes": ["600 tasks"]}, 1.1, "reproduced", "600 tasks (here 40 tasks)"),
        (
            {"above": 0.0, "conditions": ["600 tasks"], "differs": "other data"},
            1.1,
            "reproduced",
            "600 tasks (here 40 tasks); other data",
        ),
    ],
)
def test_a_value_that_agrees_under_other_settings_is_undecided_and_what_differs_is_always_named(
    row: dict[str, Any], value: float, verdict: str, differs: str
) -> None:
    found = seen(row, value, 0.1)
    assert (found["verdict"], found["what differs"]) == (verdict, differs)


@pytest.mark.parametrize(
    "named", [{"conditions": ["900 tasks"]}, {"sizes": ["900 tasks"]}, {"control": "y"}, {"instead": "y"}]
)
def test_a_reason_that_the_report_does_not_hold_is_refused(named: dict[str, Any]) -> None:
    with pytest.raises(
        BadPublished, match=r"r has no (condition '900 tasks'; it has '600 tasks'|estimate 'y')"
    ):
        seen(VALUE | named, 3, 0.1)


def test_equal_values_have_no_interval_of_no_width() -> None:
    """Ten tasks that all came out at 0 say nothing of the eleventh."""
    found = mean("a", [0.25] * 10, "points", "tasks", scale=100)
    assert found.value == 25 and found.interval == Undefined("all values are equal: they show no spread")
    shown = str(table_markup(estimates_table([found.to_dict()])))
    assert "none: all values are equal: they show no spread" in shown
    assert half_words(0.0) == "all equal" and half_words(0.01) == "± 0.010"
    chart = draw_bars([Bar("perfect", 1.0, 0.0)], "Score")
    assert "perfect: 1.000 (interval undefined: all tasks are equal)" in chart.description
    assert interval(0.0) == "(all tasks equal)" and interval(0.02) == "± 0.020"


def test_an_empty_interval_is_refused_and_what_is_undefined_stays_so() -> None:
    with pytest.raises(BadEstimate, match="the interval of x is empty"):
        Estimate("x", 1.0, (2.0, 1.0), "points", "other tasks")
    nothing = Undefined("nobody knows")
    found = resampled("x", nothing, [1.0] * 30, "points", "other tasks")
    assert found.value is nothing and found.interval is nothing
