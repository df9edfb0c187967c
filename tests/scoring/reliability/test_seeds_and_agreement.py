import numpy as np
import pytest
from scipy import stats

from anyshot_scoring.errors import ScoringError
from anyshot_scoring.reliability import (
    Population,
    SeedModel,
    fit_seed_model,
    resample,
    simulate_rules,
    tau_b,
    tau_between,
    tau_between_runs,
)
from anyshot_scoring.reliability.behind_best import behind_best
from anyshot_scoring.reliability.paired import Interval
from anyshot_scoring.reliability.tau_intervals import tau_interval
from anyshot_scoring.rules import find_rule
from anyshot_scoring.undefined import Undefined, as_json
from tests.scoring.simulated import draw_matrix


def test_tau_b_by_hand_and_with_ties():
    assert tau_b([1, 2, 3], [1, 2, 3]) == 1.0
    assert tau_b([1, 2, 3], [3, 2, 1]) == -1.0
    assert tau_b([1, 1, 2, 3], [1, 2, 2, 3]) == pytest.approx(4 / 5)


def test_a_constant_side_or_a_single_submission_is_undefined():
    assert tau_b([1, 1], [1, 2]) == Undefined("all scores of one side are equal")
    assert isinstance(tau_b([1], [2]), Undefined)
    assert as_json(tau_b([1], [2])) == {"undefined": "fewer than two submissions have no order"}
    with pytest.raises(ScoringError):
        tau_b([1, 2], [1, np.nan])


def test_tau_between_phases_takes_those_that_stand_in_both():
    assert tau_between({"a": 1, "b": 2, "c": 3}, {"b": 5, "a": 6, "d": 0}) == -1.0


def test_tau_between_runs():
    steady = draw_matrix(0, [0.2, 0.5, 0.8], runs=3)
    assert tau_between_runs(steady) == 1.0
    assert isinstance(tau_between_runs(draw_matrix(0, [0.2, 0.5])), Undefined)
    noise = [tau_between_runs(draw_matrix(seed, [0.5] * 4, runs=2, tasks=3)) for seed in range(200)]
    assert np.mean([tau for tau in noise if not isinstance(tau, Undefined)]) == pytest.approx(0.0, abs=0.1)


def test_the_seed_model_finds_what_the_scores_were_drawn_from():
    rng = np.random.default_rng(0)
    scores = 0.5 + 0.03 * rng.standard_normal((400, 1)) + 0.01 * rng.standard_normal((400, 6))
    model = fit_seed_model(scores)
    assert isinstance(model, SeedModel)
    assert model.common == pytest.approx(0.03, rel=0.1)
    assert model.noise == pytest.approx([0.01] * 6, rel=0.1)
    own = fit_seed_model(0.5 + np.array([0.01, 0.05]) * rng.standard_normal((400, 2)), pooled=False)
    assert isinstance(own, SeedModel)


def test_a_single_run_or_a_single_submission():
    assert isinstance(fit_seed_model([[0.5, 0.6]]), Undefined)
    alone = fit_seed_model([[0.5], [0.7]])
    assert isinstance(alone, SeedModel)
    (worst,) = simulate_rules(alone, rules=["worst"], competitions=500)
    assert worst.best_wins == 1.0
    assert isinstance(worst.tau, Undefined)
    with pytest.raises(ScoringError):
        fit_seed_model([[np.nan, 0.1]])


def test_the_worst_of_three_costs_what_theory_says():
    model = SeedModel(np.array([0.5, 0.4]), 0.0, np.array([0.02, 0.02]))
    worst, mean, _ = simulate_rules(model, competitions=20_000)
    expected = 3 / (2 * np.sqrt(np.pi)) * 0.02  # of the lowest of three normal draws
    assert worst.penalty == pytest.approx([expected] * 2, abs=0.0005)
    assert mean.penalty == pytest.approx([0.0] * 2, abs=0.0005)


def test_the_mean_finds_the_best_more_often_than_the_worst_run_at_equal_noise():
    model = SeedModel(np.array([0.52, 0.50]), 0.0, np.array([0.02, 0.02]))
    worst, mean, median = simulate_rules(model, competitions=20_000)
    assert mean.best_wins == pytest.approx(stats.norm.cdf(0.02 / (0.02 * np.sqrt(2 / 3))), abs=0.01)
    assert mean.best_wins > median.best_wins
    assert mean.best_wins > worst.best_wins + 0.01
    assert mean.tau == pytest.approx(2 * mean.best_wins - 1)
    assert mean.same_winner_as_mean == 1.0


def test_the_worst_run_favours_the_steady():
    model = SeedModel(np.array([0.500, 0.505]), 0.0, np.array([0.001, 0.03]))
    worst, mean, _ = simulate_rules(model, competitions=5_000)
    assert worst.best_wins < 0.2 < 0.5 < mean.best_wins


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.9])
def test_an_interval_of_tau_holds_the_true_one_over_other_submissions(rho: float):
    rng, true, held = np.random.default_rng(0), 2 / np.pi * np.arcsin(rho), 0
    for _ in range(300):
        one = rng.normal(size=20)
        two = rho * one + np.sqrt(1 - rho**2) * rng.normal(size=20)
        interval = tau_interval(tau_b(one, two), 20)
        assert isinstance(interval, Interval)
        held += interval.holds(true)
    assert 0.91 < held / 300 < 0.99


@pytest.mark.parametrize("submissions", [8, 20])
def test_an_interval_of_the_tau_between_runs_holds_that_of_all_submissions(submissions: int):
    """The agreement of three runs over a few submissions, against that over a thousand like these."""

    def agreement(seed: int, count: int) -> float:
        levels = 0.6 + 0.03 * np.random.default_rng(seed).standard_normal(count)
        board = draw_matrix(seed, levels, datasets=10, tasks=2, runs=3, task_sd=0.05, run_sd=0.02)
        found = tau_between_runs(board)
        assert not isinstance(found, Undefined)
        return found

    truth = agreement(9000, 1000)
    held = 0
    for seed in range(100):
        interval = tau_interval(agreement(seed, submissions), submissions)
        assert isinstance(interval, Interval)
        held += interval.low <= truth <= interval.high
    assert held >= 93


@pytest.mark.parametrize(("submissions", "datasets", "spread"), [(3, 6, 0.02), (10, 10, 0.0), (20, 6, 0.05)])
def test_what_a_leader_of_the_feedback_phase_is_truly_behind_lies_in_its_interval(
    submissions: int, datasets: int, spread: float
):
    """Also where the best was picked by the same scores: the interval of that one pair held in 89 of 100 boards."""
    held = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        levels = 0.6 + spread * rng.standard_normal(submissions)
        led = int((levels + 0.03 * rng.standard_normal(submissions)).argmax())
        board = draw_matrix(seed, levels, datasets=datasets, tasks=10, dataset_sd=0.03)
        drawn = resample(board, Population.DATASETS, replicates=300, seed=seed, rule=find_rule("mean_run"))
        interval = behind_best(board.scores.mean(axis=0), drawn, led, datasets)
        assert isinstance(interval, Interval) and interval.low >= 0
        held += interval.low <= levels.max() - levels[led] <= interval.high
    assert held >= 93


def test_how_far_behind_the_best_by_known_answers():
    """Differences with one spread of 0.1: 1.96 of them, grown for ten units, about the lead of 0.5; 0 for the best."""
    rng = np.random.default_rng(0)
    scores = np.array([0.2, 0.7])
    drawn = scores + np.column_stack([np.zeros(20_000), 0.1 * rng.standard_normal(20_000)])
    reach = 0.1 * stats.t.ppf(0.975, 9) * np.sqrt(10 / 9)
    behind, best = (behind_best(scores, drawn, place, 10) for place in (0, 1))
    assert isinstance(behind, Interval) and isinstance(best, Interval)
    assert (behind.low, behind.high) == pytest.approx((0.5 - reach, 0.5 + reach), abs=0.01)
    assert (best.low, best.high) == (0.0, 0.0)
    assert isinstance(behind_best(scores, drawn, 0, 5), Undefined)
    assert isinstance(behind_best(scores[:1], drawn[:, :1], 0, 10), Undefined)
    with pytest.raises(ScoringError, match="expected"):
        behind_best(scores, drawn[:, :1], 0, 10)


def test_full_agreement_of_a_few_is_not_certain():
    interval = tau_interval(1.0, 8)
    assert isinstance(interval, Interval) and 0.3 < interval.low < 0.98 and interval.high == 1.0
    assert isinstance(tau_interval(1.0, 7), Undefined)
    assert tau_interval(Undefined("all equal"), 20) == Undefined("all equal")
