"""Runs that were tested on the same tasks say no more of tasks than one run does."""

from dataclasses import replace

import numpy as np
import pytest

from anyshot_scoring.predictions import Predictions
from anyshot_scoring.reliability import Assessment, Interval, Population, align, align_classes, assess
from anyshot_scoring.reliability.assessment import PopulationReport
from anyshot_scoring.reliability.flips import Flips
from anyshot_scoring.reliability.matrix import ScoreMatrix
from anyshot_scoring.reliability.planning import SampleSizePlan
from anyshot_scoring.reliability.shared_tasks import counted_once, mean_of_runs
from anyshot_scoring.rules import RULES
from tests.scoring.drawn import draw_table
from tests.scoring.simulated import draw_run_by_class


def boards() -> tuple[ScoreMatrix, ScoreMatrix]:
    """A board of one run, and the same with the run given twice."""
    tables = {key: [draw_table(3, 40, skill=skill)] for key, skill in (("a", 0.6), ("b", 0.55), ("c", 0.3))}
    for runs in tables.values():
        columns = {name: getattr(tables["a"][0], name) for name in ("task", "dataset", "ways", "shots")}
        runs[0] = type(runs[0]).from_columns(runs[0].columns() | columns)
    return align(tables), align({key: runs * 2 for key, runs in tables.items()})


def test_a_run_that_is_given_twice_makes_no_interval_narrower() -> None:
    one, two = boards()
    once = assess(one, replicates=1000, seed=1)
    twice = assess(two, replicates=1000, seed=1, shared_tasks=True)
    doubled = assess(two, replicates=1000, seed=1)
    assert (once.tasks, twice.tasks, doubled.tasks) == (40, 40, 80)
    for axis in ("ways", "shots"):
        found = [[s.half_widths for s in getattr(a, axis).strata] for a in (once, twice, doubled)]
        assert found[0] == found[1] != found[2]
    reports = [known(a, Population.TASKS) for a in (once, twice, doubled)]
    shares = [report.redrawn.first.tolist() for report in reports]
    plans = [one.plan for one in (once, twice) if isinstance(one.plan, SampleSizePlan)]
    assert shares[0] == shares[1] and plans[0].now == pytest.approx(plans[1].now)
    assert replace(plans[0], now=0.0) == replace(plans[1], now=0.0)
    widths = [width(report) for report in reports]
    assert widths[1] == pytest.approx(widths[0], rel=0.1) and widths[2] < 0.85 * widths[0]


def known(assessment: Assessment, population: Population) -> PopulationReport:
    report = assessment.populations[population]
    assert isinstance(report, PopulationReport)
    return report


def width(report: PopulationReport) -> float:
    """Of the interval of the first lead, by the model, whose draws are others for another number of runs."""
    interval = report.neighbours[0].interval
    assert isinstance(interval, Interval)
    return interval.high - interval.low


def with_classes() -> dict[str, list[Predictions]]:
    """Two submissions' predictions on seven datasets of six classes."""
    skills = np.random.default_rng(5).uniform(0.4, 0.8, (7, 6))
    return {
        key: [draw_run_by_class(seed, 0, skills + shift, tasks=12)]
        for seed, (key, shift) in enumerate((("a", 0.1), ("b", 0.0)))
    }


@pytest.mark.parametrize("rule", ["worst_run", "mean_run", "worst_dataset"])
def test_neither_datasets_nor_classes_are_surer_for_a_run_that_is_given_twice(rule: str) -> None:
    found = []
    for runs, shared in ((1, False), (2, True), (2, False)):
        parts = {key: own * runs for key, own in with_classes().items()}
        matrix = align({key: [one.score() for one in own] for key, own in parts.items()})
        classes = align_classes(
            {key: [one.class_table() for one in own] for key, own in parts.items()}, matrix
        )
        found.append(assess(matrix, classes=classes, rule=rule, replicates=1000, seed=1, shared_tasks=shared))
    for population in (Population.TASKS, Population.CLASSES, Population.DATASETS):
        reports = [known(one, population) for one in found]
        assert width(reports[1]) == pytest.approx(width(reports[0]), rel=0.25), population
    staged = [one.over_datasets.scores[0].staged for one in found]  # pyright: ignore[reportAttributeAccessIssue]
    assert staged[0] == staged[1] != staged[2]


def test_flips_over_classes_are_of_the_runs_that_count() -> None:
    """b's second run is far better, so that the mean would turn the order, and no flip could be told."""
    parts = with_classes()
    better = draw_run_by_class(7, 0, np.full((7, 6), 0.99), tasks=12)
    runs = {"a": parts["a"] * 2, "b": [*parts["b"], better]}
    matrix = align({key: [one.score() for one in own] for key, own in runs.items()})
    classes = align_classes({key: [one.class_table() for one in own] for key, own in runs.items()}, matrix)
    found = assess(matrix, classes=classes, replicates=1000, shared_tasks=True)
    assert found.keys == ("a", "b")
    leads = {one.unit: one.flips.lead for one in found.flips if isinstance(one.flips, Flips)}
    assert 0.05 < leads["classes"] == pytest.approx(leads["datasets"], rel=0.2)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_ranks_tasks_that_count_once_as_it_ranks_the_runs(name: str) -> None:
    matrix, rule = boards()[1], RULES[name]
    noise = np.random.default_rng(0).normal(0, 0.3, matrix.scores.shape)
    matrix = replace(matrix, scores=matrix.scores + noise)
    once = counted_once(matrix, rule)
    assert once.runs == 1 and len(once.task) == 40
    points = [rule.points(m.run_means(), m.run_dataset_means()) for m in (matrix, once)]
    assert points[0] == pytest.approx(points[1])
    assert mean_of_runs(matrix).scores.mean() == pytest.approx(matrix.scores.mean())
