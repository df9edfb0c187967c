import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from anyshot_scoring.errors import IncompleteRun, ScoringError
from anyshot_scoring.intervals import t_half_width, t_interval
from anyshot_scoring.summary import RunSummary, summarize
from anyshot_scoring.table import METRICS, TaskTable
from tests.scoring.drawn import draw_table


def test_the_interval_is_scipys():
    values = np.random.default_rng(0).normal(size=30)
    mean, half_width = t_interval(values)
    assert half_width is not None
    low, high = stats.t.interval(0.95, 29, loc=values.mean(), scale=stats.sem(values))
    assert (mean - half_width, mean + half_width) == pytest.approx((low, high), abs=1e-12)


def test_the_interval_covers_the_true_mean_as_often_as_it_says():
    rng = np.random.default_rng(7)
    draws = rng.beta(4, 2, size=(4_000, 40))
    hits = sum(abs(mean - 4 / 6) <= (half or 0) for mean, half in map(t_interval, draws))
    assert hits / 4_000 == pytest.approx(0.95, abs=0.012)


def test_the_interval_of_one_value_is_undefined_and_of_equal_values_zero():
    assert t_interval([0.4]) == (0.4, None)
    assert t_interval([0.1] * 3) == (0.1, 0.0)
    assert t_half_width(1.0, 1) is None


@pytest.mark.parametrize("values", [[], [np.nan], [1.0, np.inf], [[1.0, 2.0]]])
def test_no_interval_over_nothing_or_over_what_is_not_finite(values: Any):
    with pytest.raises(ScoringError):
        t_interval(values)


def test_a_summary_holds_the_means_of_the_table():
    table = draw_table(3, 400)
    summary = summarize(table, 400)
    assert summary.mean == pytest.approx(table.normalized_accuracy.mean(), abs=1e-12)
    assert summary.tasks == 400
    assert [group.key for group in summary.by_dataset] == ["D0", "D1", "D2", "D3"]
    assert [group.key for group in summary.by_domain] == ["domain 0", "domain 1"]
    for groups, column in ((summary.by_ways, table.ways), (summary.by_shots, table.shots)):
        assert sum(group.tasks for group in groups) == 400
        for group in groups:
            rows = table.normalized_accuracy[column == group.key]
            assert group.mean == pytest.approx(rows.mean(), abs=1e-12)
    assert {group.key: group.mean for group in summary.metrics} == {
        name: pytest.approx(getattr(table, name).mean(), abs=1e-12) for name in METRICS
    }
    assert summary.fit_seconds == pytest.approx(table.fit_seconds.sum())


@given(st.integers(1, 40), st.integers(0, 1000))
def test_a_summary_survives_json(tasks: int, seed: int):
    summary = summarize(draw_table(seed, tasks), tasks)
    assert RunSummary.from_dict(json.loads(json.dumps(summary.to_dict(), allow_nan=False))) == summary


def test_the_order_of_the_rows_does_not_matter():
    table = draw_table(3, 50)
    shuffled = table.select(np.random.default_rng(0).permutation(50))
    assert summarize(shuffled, 50).mean == pytest.approx(summarize(table, 50).mean, abs=1e-12)


def test_one_task_has_a_mean_but_no_interval():
    summary = summarize(draw_table(0, 1), 1)
    assert summary.half_width is None
    assert summary.by_dataset[0].half_width is None


def test_a_missing_task_makes_the_run_incomplete():
    with pytest.raises(IncompleteRun, match=r"of 10 expected tasks, 1 missing \(first: 3\)") as caught:
        summarize(draw_table(0, 10).select(np.arange(10) != 3), 10)
    assert caught.value.missing == [3]


def test_more_tasks_than_expected_or_a_task_twice_are_refused():
    table = draw_table(0, 10)
    with pytest.raises(IncompleteRun) as caught:
        summarize(table, 9)
    assert caught.value.unexpected == [9]
    with pytest.raises(IncompleteRun) as caught:
        summarize(TaskTable.concatenate([table, table.select(np.array([4]))]), 10)
    assert caught.value.unexpected == [4]


def test_a_failed_task_has_nan_and_the_run_has_no_score():
    table = draw_table(0, 10)
    scores = table.normalized_accuracy.copy()
    scores[6] = np.nan
    with pytest.raises(IncompleteRun) as caught:
        summarize(replace(table, normalized_accuracy=scores), 10)
    assert caught.value.failed == [6]


def test_a_shard_names_the_tasks_that_it_must_hold():
    table = draw_table(0, 10)
    assert summarize(table.select(table.task >= 6), range(6, 10)).tasks == 4


def test_a_run_over_no_tasks_has_no_score():
    with pytest.raises(ScoringError, match="no tasks"):
        summarize(draw_table(0, 3).select(np.zeros(3, bool)), 0)


def test_another_metric_and_an_unknown_one():
    table = draw_table(0, 10)
    assert summarize(table, 10, "macro_f1").mean == pytest.approx(table.macro_f1.mean())
    with pytest.raises(ScoringError, match="no metric 'f2'"):
        summarize(table, 10, "f2")
