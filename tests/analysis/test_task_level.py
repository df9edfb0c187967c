"""Splits of a support set, estimates, their errors, selection, BaselineCV, trust."""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import NearestCentroid

from anyshot_analysis.episodes import draw_episodes
from anyshot_analysis.heads import BaselineHead, ProtoNet, compact, problem_of
from anyshot_analysis.heads.problem import FittingProblem
from anyshot_analysis.trust.bands import Band, Trust, calibrate, coverage_of, judge
from anyshot_analysis.trust.baseline_cv import baseline_cv, choose_strengths
from anyshot_analysis.trust.error import evaluator_error, rank_agreement, select, spearman
from anyshot_analysis.trust.estimate import estimate, estimate_any, oracle
from anyshot_analysis.trust.splits import (
    EVALUATORS,
    SplitPlan,
    bootstrap,
    hold_out,
    k_fold,
    leave_one_out,
    plan_for,
)
from anyshot_analysis.undefined import Undefined, require
from tests.analysis.worlds import make_features

LABELS = np.array([0, 0, 1, 1, 1, 0, 2, 2, 2, 2])


def plan_of(found: SplitPlan | Undefined) -> SplitPlan:
    assert isinstance(found, SplitPlan)
    return found


def test_folds_interleave_classes_and_test_each_image_once() -> None:
    plan = plan_of(k_fold(LABELS))
    assert plan.tested.shape == (3, 10)  # the smallest class has three
    assert (plan.tested.sum(axis=0) == 1).all()
    np.testing.assert_array_equal(plan.tested[0], [1, 0, 1, 0, 0, 0, 1, 0, 0, 1])
    np.testing.assert_array_equal(plan.weights, ~plan.tested)
    np.testing.assert_array_equal(plan_of(hold_out(LABELS)).tested, plan.tested[:1])
    assert plan_of(k_fold(np.repeat([0, 1], 9))).tested.shape == (5, 18)
    assert plan_of(leave_one_out(LABELS)).tested.sum() == 10


def test_a_bootstrap_keeps_all_classes_and_tests_what_it_left_out() -> None:
    plan = plan_of(bootstrap(LABELS, seed=4, rounds=200))
    assert (plan.weights.sum(axis=1) == 10).all()
    for c in range(3):
        assert (plan.weights[:, c == LABELS].sum(axis=1) > 0).all()
    np.testing.assert_array_equal(plan.tested, plan.weights == 0)
    assert plan.tested.any(axis=1).all()
    np.testing.assert_array_equal(plan.weights, plan_of(bootstrap(LABELS, seed=4, rounds=200)).weights)
    assert (plan.weights != plan_of(bootstrap(LABELS, seed=5, rounds=200)).weights).any()


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_one_shot_tasks_are_not_estimable(evaluator: str) -> None:
    for labels in ([0, 1, 2], [0, 0, 1, 1, 2], [0, 0, 0]):
        found = plan_for(evaluator, labels)
        assert isinstance(found, Undefined)
        assert "not estimable" in found.reason
    assert isinstance(k_fold(LABELS, folds=4), Undefined)


def fit_centroid(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return NearestCentroid().fit(x, y).predict(z)


def make_problem(shots: int = 4, tasks: int = 6, noise: float = 2.0) -> tuple[FittingProblem, np.ndarray]:
    features = make_features(noise=noise)
    episodes = draw_episodes(features, 3, shots, 12, tasks, seed=8)
    return compact(problem_of(features.values, episodes)), np.repeat(np.arange(3), 12)


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_estimates_side_by_side_equal_refits_one_by_one(evaluator: str) -> None:
    problem, _ = make_problem()
    fast = estimate(ProtoNet(), problem, evaluator, seeds=range(6))
    for task in range(problem.tasks):
        slow = estimate_any(fit_centroid, problem.support[task], problem.labels[task], evaluator, seed=task)
        assert fast[task] == pytest.approx(require(slow, "estimate"))


def test_leave_one_out_equals_scikit_learn() -> None:
    problem, _ = make_problem()
    found = estimate(ProtoNet(), problem, "leave-one-out")
    for task in range(problem.tasks):
        scores = cross_val_score(
            NearestCentroid(), problem.support[task], problem.labels[task], cv=LeaveOneOut()
        )
        assert found[task] == pytest.approx(scores.mean())


def test_mixed_support_sizes_keep_undefined_tasks_apart() -> None:
    problem, _ = make_problem(shots=2, tasks=2)
    labels = problem.labels.copy()
    labels[1] = [0, 0, 0, 1, 1, 2]
    mixed = FittingProblem(problem.support, labels, problem.queries, 3)
    found = estimate(ProtoNet(), mixed, "k-fold")
    assert not isinstance(found[0], Undefined)
    assert isinstance(found[1], Undefined)
    error = evaluator_error(found, [0.5, 0.5])
    assert (error.tasks, error.not_estimable) == (1, 1)
    assert isinstance(error.variance, Undefined)
    assert isinstance(evaluator_error([found[1]], [0.5]).bias, Undefined)


def test_errors_equal_their_definitions() -> None:
    estimates, truth = np.array([0.5, 0.9, 0.7, 0.6]), np.array([0.6, 0.7, 0.7, 0.45])
    error = evaluator_error(estimates.tolist(), truth)
    gaps = estimates - truth
    assert error.bias == pytest.approx(gaps.mean())
    assert error.variance == pytest.approx(np.var(gaps, ddof=1))
    assert error.mean_absolute == pytest.approx(np.abs(gaps).mean())
    assert error.beyond == pytest.approx(0.5)  # 0.1 itself is not beyond ten points


def test_spearman_equals_scipy_and_ties_are_counted() -> None:
    rng = np.random.default_rng(0)
    estimates, truth = rng.integers(0, 4, (5, 30)) / 4, rng.random((5, 30))
    agreement = rank_agreement(estimates, truth)
    values: list[Any] = [
        stats.spearmanr(e, t)[0] for e, t in zip(estimates.T, truth.T, strict=True) if np.ptp(e)
    ]
    assert agreement.mean == pytest.approx(np.mean(values))
    assert agreement.defined + agreement.undefined == 30
    assert isinstance(spearman(np.ones(4), np.arange(4.0)), Undefined)
    assert isinstance(rank_agreement(np.ones((3, 2)), np.ones((3, 2))).mean, Undefined)


def test_selection_lies_between_its_ends_and_shares_ties() -> None:
    estimates = np.array([[0.9, 0.5, 0.2], [0.1, 0.5, 0.8]])
    truth = np.array([[0.8, 0.6, 0.4], [0.5, 0.2, 0.9]])
    found = select(estimates, truth, ["a", "b"])
    assert found.chosen == pytest.approx((0.8 + 0.4 + 0.9) / 3)
    assert found.oracle == pytest.approx((0.8 + 0.6 + 0.9) / 3)
    assert (found.best_single, found.best_single_model) == (pytest.approx(0.6), "a")
    assert found.gain == pytest.approx(0.1)


def test_cross_validated_regularisation_takes_the_stronger_penalty_on_ties() -> None:
    problem, truth = make_problem(noise=0.01)
    strengths, missing = choose_strengths(problem, (1.0, 0.1, 10.0))
    np.testing.assert_array_equal(strengths, 0.1)  # all are perfect
    assert missing == 0
    found = baseline_cv(problem, truth, (0.1, 1.0))
    np.testing.assert_array_equal(found.accuracies, oracle(BaselineHead(0.1), problem, truth))
    single, truth = make_problem(shots=1)
    assert choose_strengths(single, (0.1, 1.0))[1] == single.tasks


def test_the_band_covers_as_promised_on_tasks_like_those_it_saw() -> None:
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(200):
        estimates, truth = rng.random(140), rng.random(140)
        band = calibrate(estimates[:40].tolist(), truth[:40], 0.9)
        assert isinstance(band, Band)
        inside = (truth[40:] >= estimates[40:] + band.low) & (truth[40:] <= estimates[40:] + band.high)
        covered.append(inside.mean())
    assert 0.89 <= np.mean(covered) <= 0.93
    assert require(coverage_of(Band(-1, 1, 0.9, 10), [0.2, 0.4], [0.3, 1.0]), "coverage") == 1
    assert isinstance(calibrate([0.5] * 10, [0.5] * 10, 0.9), Undefined)


def test_trust_says_safe_unsafe_or_that_it_cannot_tell() -> None:
    band = Band(-0.1, 0.2, 0.9, 100)
    assert judge(0.7, band, 0.6) is Trust.SAFE
    assert judge(0.3, band, 0.6) is Trust.UNSAFE
    assert judge(0.6, band, 0.6) is Trust.CANNOT_TELL
    assert judge(Undefined("not estimable"), band, 0.6) is Trust.NOT_ESTIMABLE
