from dataclasses import replace

import numpy as np
import pytest

from anyshot_scoring.reliability import (
    ClassMatrix,
    Components,
    ScoreMatrix,
    align,
    align_classes,
    estimate_components,
    fit_crossed,
    plan_top,
)
from anyshot_scoring.reliability.components import Moments, component_intervals
from anyshot_scoring.undefined import Undefined
from tests.scoring.simulated import draw_matrix, draw_run_by_class


def components(
    matrix: ScoreMatrix, first: str, second: str, classes: ClassMatrix | None = None
) -> Components | Undefined:
    return estimate_components(fit_crossed(matrix, classes), matrix, first, second, classes)


PAIR = Components(lead=0.02, dataset=0.001, klass=0.002, task=0.04, datasets=10, classes=20, tasks=100)


def test_components_are_those_of_the_model():
    found = [
        components(draw_matrix(seed, [0.5, 0.55], datasets=12, dataset_sd=0.06, task_sd=0.15), "s0", "s1")
        for seed in range(60)
    ]
    known = [c for c in found if isinstance(c, Components)]
    assert len(known) == 60
    assert np.mean([c.task for c in known]) == pytest.approx(2 * 0.15**2, rel=0.05)
    assert np.mean([c.dataset for c in known]) == pytest.approx(2 * 0.06**2, rel=0.15)
    assert np.mean([c.lead for c in known]) == pytest.approx(0.05, abs=0.012)


def test_the_variance_between_classes_is_found():
    rng = np.random.default_rng(0)
    gap = 0.1 * rng.standard_normal((4, 30))
    runs = {
        key: [draw_run_by_class(100 * i + r, r, 0.6 + sign * gap / 2, tasks=150) for r in range(3)]
        for i, (key, sign) in enumerate((("a", 1), ("b", -1)))
    }
    matrix = align({key: [run.score() for run in own] for key, own in runs.items()})
    classes = align_classes({key: [run.class_table() for run in own] for key, own in runs.items()}, matrix)
    found = components(matrix, "a", "b", classes)
    assert isinstance(found, Components)
    assert found.classes == 30
    assert found.klass == pytest.approx((1.25 * 0.1) ** 2, rel=0.35)


def test_a_plan_reaches_its_aim_and_no_less_does():
    plan = plan_top([PAIR], flip=0.05)
    for unit in ("tasks", "classes"):
        count = getattr(plan, unit)
        fixed = Components(**{**vars(PAIR), "dataset": 0.0})
        assert fixed.flip(**{unit: count}) <= 0.05 < fixed.flip(**{unit: count - 1})
    assert isinstance(plan.datasets, int)
    assert PAIR.flip(datasets=plan.datasets) <= 0.05 < PAIR.flip(datasets=plan.datasets - 1)
    assert plan.now == pytest.approx(PAIR.flip())


def test_the_hardest_pair_decides():
    close = Components(**{**vars(PAIR), "lead": 0.005})
    assert plan_top([PAIR, close]).datasets == plan_top([close]).datasets


def test_what_no_number_settles_says_why():
    tied = Components(**{**vars(PAIR), "lead": 0.0})
    assert plan_top([PAIR, tied]).datasets == Undefined("two submissions have the same score")
    noisy = Components(**{**vars(PAIR), "klass": 5.0})
    assert isinstance(plan_top([noisy]).tasks, Undefined)
    unknown = Components(**{**vars(PAIR), "klass": 0.0})
    assert isinstance(plan_top([unknown]).classes, Undefined)
    assert isinstance(components(draw_matrix(0, [0.5, 0.6], tasks=1), "s0", "s1"), Undefined)


def test_no_spread_and_no_lead():
    still = Components(lead=0.1, dataset=0, klass=0, task=0, datasets=1, classes=1, tasks=1)
    assert still.flip() == 0.0
    assert Components(**{**vars(still), "lead": 0.0}).flip() == 0.5


def test_intervals_of_components_hold_the_true_ones() -> None:
    held = {"dataset": 0, "task": 0}
    for seed in range(200):
        matrix = draw_matrix(seed, [0.5, 0.55], datasets=6, dataset_sd=0.06, task_sd=0.15)
        found = components(matrix, "s0", "s1")
        assert isinstance(found, Components)
        for unit, true in (("dataset", 2 * 0.06**2), ("task", 2 * 0.15**2)):
            interval = component_intervals(found)[unit]
            assert not isinstance(interval, Undefined)
            held[unit] += interval[0] <= true <= interval[1]
    assert all(0.91 < count / 200 < 0.99 for count in held.values()), held
    assert isinstance(component_intervals(PAIR)["task"], Undefined), "assumed, not estimated"


def test_ranges_of_tasks_and_classes_hold_the_true_needs() -> None:
    """Mean squares as six datasets of twenty classes and a hundred tasks have them; the lead is asked about."""
    rng, held = np.random.default_rng(0), {"tasks": 0, "classes": 0}
    truth = Components(0.03, 0.001, 0.002, 0.04, 6, 20.0, 100.0)
    needed, free = plan_top([truth], known_leads=True), (5, 114, 594)
    for _ in range(200):
        spread, klass, task = (
            value * rng.chisquare(n) / n
            for value, n in zip((truth.variance(datasets=1), truth.klass, truth.task), free, strict=True)
        )
        dataset = max(0.0, spread - klass / 20 - task / 100)
        moments = Moments(spread, klass, task, free)
        plan = plan_top([Components(0.03, dataset, klass, task, 6, 20.0, 100.0, moments)], known_leads=True)
        for unit in held:
            interval = getattr(plan, f"{unit}_interval")
            held[unit] += interval[0] <= getattr(needed, unit) <= interval[1]
    assert all(count / 200 > 0.93 for count in held.values()), held


def test_a_range_without_an_upper_end_says_so() -> None:
    moments = Moments(0.01, 0.02, 0.04, (2, 3, 300))
    doubtful = plan_top([Components(0.03, 0.005, 0.02, 0.04, 3, 20.0, 100.0, moments)])
    assert doubtful.classes == 34
    assert doubtful.classes_interval == Undefined("from 4 on, and no number may be enough")
    assert doubtful.tasks_interval == doubtful.tasks, "where no number is enough, none has a range"


def test_a_pair_of_a_board_is_known_better_than_the_pair_alone() -> None:
    """Ten submissions of one kind on six datasets: the variance of two of them is nearer to the truth by all ten."""
    alone, whole = [], []
    for seed in range(60):
        matrix = draw_matrix(seed, [0.5] * 10, datasets=6, dataset_sd=0.06, task_sd=0.15)
        for found, board in ((alone, matrix.submissions([0, 1])), (whole, matrix)):
            pair = components(board, "s0", "s1")
            assert isinstance(pair, Components)
            found.append(pair.dataset / (2 * 0.06**2) - 1)
    assert np.mean(np.square(whole)) < 0.5 * np.mean(np.square(alone)) and abs(np.mean(whole)) < 0.1


@pytest.mark.parametrize("shared", [False, True])
def test_runs_on_the_same_tasks_are_one_task(shared: bool) -> None:
    """Three runs whose scores on a task are the same: of 30 tasks a dataset where they share them, else of 90."""
    one = draw_matrix(0, [0.5, 0.55], datasets=8, tasks=30, dataset_sd=0.06, task_sd=0.15)
    columns = {
        name: np.tile(getattr(one, name), (3, 1) if name == "scores" else 3)
        for name in ("scores", "task", "dataset", "ways", "shots")
    }
    matrix = replace(one, **columns, run=np.repeat(np.arange(3), len(one.task)))
    single = components(one, "s0", "s1")
    thrice = estimate_components(fit_crossed(matrix, shared_tasks=shared), matrix, "s0", "s1")
    assert isinstance(single, Components) and isinstance(thrice, Components)
    assert thrice.tasks == pytest.approx(single.tasks * (1 if shared else 3))
    assert thrice.task == pytest.approx(single.task, rel=1e-6) and thrice.lead == pytest.approx(single.lead)
    assert thrice.variance(datasets=1) == pytest.approx(single.variance(datasets=1), rel=1e-6)
