"""Submissions over datasets, against published examples, baycomp, and enumeration by hand."""

import itertools

import numpy as np
import pytest
from scipy import stats

from anyshot_core.report import reliability_html
from anyshot_scoring.reliability import Interval, Population, assess, resample
from anyshot_scoring.reliability.over_datasets import (
    OverDatasets,
    compare_over_datasets,
    critical_difference,
    friedman,
    holm,
    signed_rank_p,
    signed_rank_probabilities,
)
from anyshot_scoring.rules import find_rule
from anyshot_scoring.undefined import Undefined
from benchmarks.calibration.boards import simulate

# Demsar 2006, table 6: AUC of C4.5, with m tuned, with cf tuned, with both, on 14 data sets
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975], [0.957, 0.978, 0.946, 0.970],
    ]
)  # fmt: skip


def known(found: OverDatasets | Undefined) -> OverDatasets:
    assert isinstance(found, OverDatasets)
    return found


def test_average_ranks_and_critical_difference_are_those_of_demsars_example() -> None:
    found = critical_difference(DEMSAR)
    assert found.ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert found.difference == pytest.approx(1.25, abs=0.005)  # q = 2.569, as his table 5
    assert critical_difference(DEMSAR, level=0.10).difference == pytest.approx(1.12, abs=0.005)
    assert found.groups == ((3, 1, 2, 0),)
    assert critical_difference(DEMSAR, level=0.10).groups == (
        (3, 1, 2),
        (2, 0),
    )  # at 10 % plain C4.5 is behind both with m


def test_friedmans_test_is_that_of_his_example_and_of_scipy_without_ties() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((12, 5))
    ranks = stats.rankdata(-values, axis=1)
    chi = stats.friedmanchisquare(*values.T).statistic
    f = 11 * chi / (12 * 4 - chi)
    assert friedman(ranks) == pytest.approx(float(stats.f.sf(f, 4, 44)), rel=1e-12)
    # his F of 3.69 takes no account of ties; with it the statistic is larger
    assert 0.005 < critical_difference(DEMSAR).p < float(stats.f.sf(3.69, 3, 39))
    assert friedman(np.ones((5, 3))) == 1.0
    assert friedman(np.tile([1.0, 2.0, 3.0], (5, 1))) == 0.0


def test_bayesian_signed_ranks_are_those_of_baycomp() -> None:
    gaps = np.array([0.021, 0.034, -0.004, 0.052, 0.011, 0.027, -0.013, 0.041, 0.006, 0.018])
    for margin, expected in ((0.01, (0.93205, 0.0678, 0.0001)), (0.02, (0.3584, 0.6416, 0.0))):
        found = signed_rank_probabilities(gaps, margin, draws=100_000)
        assert found == pytest.approx(expected, abs=0.006)  # baycomp 1.0.3, 400,000 samples
        assert signed_rank_probabilities(-gaps, margin, draws=100_000)[::-1] == pytest.approx(
            expected, abs=0.006
        )
    assert signed_rank_probabilities(np.zeros(8), 0.01) == (0.0, 1.0, 0.0)


def test_signed_ranks_are_exact_with_ties_too() -> None:
    gaps = np.array([1.0, -1.0, 2.0, 2.0, 3.0, 0.0])
    ranks = np.array([1.5, 1.5, 3.5, 3.5, 5.0])
    sums = [np.dot(signs, ranks) for signs in itertools.product((-1, 1), repeat=5)]
    assert signed_rank_p(gaps) == np.mean(np.abs(sums) >= 12.0)
    assert signed_rank_p(np.arange(1.0, 7.0)) == 2 / 64
    assert signed_rank_p(np.zeros(4)) == 1.0


def test_holm_is_his_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_equal_submissions_are_rarely_told_apart() -> None:
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(400):
        values = rng.normal(size=(10, 4)) + rng.normal(size=(10, 1))
        found = critical_difference(values)
        wrong += np.ptp(found.ranks) > found.difference
    assert 0.01 < wrong / 400 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.seconds("simulates many boards")
def test_intervals_over_datasets_hold_the_truth_and_those_of_tasks_do_not() -> None:
    held = 0
    for seed in range(100):
        board = simulate("even", 2, 8, seed, level=0.01)
        found = known(compare_over_datasets(board.matrix, find_rule("mean_run"), replicates=50))
        score, rows = found.scores[0], board.matrix.dataset_means()[:, 0]
        assert score.score == pytest.approx(rows.mean())
        half = float(stats.t.ppf(0.975, 7)) * rows.std(ddof=1) / np.sqrt(8)
        assert (score.plain.low, score.plain.high) == pytest.approx((rows.mean() - half, rows.mean() + half))
        held += score.plain.holds(float(board.truth[0]))
    assert held / 100 > 0.88


def test_six_datasets_are_enumerated_beside_the_two_stages() -> None:
    board = simulate("even", 3, 6, 0).matrix
    one, two = (
        known(compare_over_datasets(board, find_rule("mean_run"), replicates=2000, seed=seed))
        for seed in (1, 2)
    )
    assert one.scores[0].exact and one.scores[0].drawn == two.scores[0].drawn
    assert one.scores[0].staged != two.scores[0].staged
    drawn, staged = one.scores[0].drawn, one.scores[0].staged
    assert isinstance(drawn, Interval) and isinstance(staged, Interval)
    assert staged.high - staged.low > drawn.high - drawn.low
    assert len(resample(board, Population.DATASETS, replicates=5, one_stage=True)) == 6**6


def test_the_order_without_a_dataset_is_that_of_the_others() -> None:
    board = simulate("even", 4, 7, 3, level=0.005).matrix
    found = known(compare_over_datasets(board, find_rule("mean_run"), replicates=100))
    values = board.dataset_means()
    for place, without in enumerate(found.without):
        rest = np.delete(values, place, axis=0).mean(axis=0)
        assert without.order == tuple(board.keys[i] for i in np.argsort(-rest, kind="stable"))
    assert {w.dataset for w in found.changed} == {
        w.dataset for w in found.without if w.order[0] != board.keys[0]
    }
    ranks = known(compare_over_datasets(board, find_rule("dataset_ranks_mean"), replicates=100))
    assert len(ranks.without) == 7


def test_under_six_datasets_no_rank_test_is_made_and_the_page_says_so() -> None:
    board = simulate("even", 4, 5, 0).matrix
    found = known(compare_over_datasets(board, find_rule("mean_run"), replicates=100))
    assert isinstance(found.ranks, Undefined) and isinstance(found.pairs, Undefined)
    assert len(found.without) == 5 and len(found.scores) == 4
    page = reliability_html(assess(board, replicates=1000, rule="mean_run"))
    assert "5 datasets: no rank test can reach 5 % with fewer than 6" in page
    assert signed_rank_p(np.arange(1.0, 6.0)) > 0.05


def test_the_organizers_page_compares_over_datasets() -> None:
    board = simulate("even", 4, 8, 1, level=0.02).matrix
    assessment = assess(board, replicates=1000, rule="mean_run")
    found, page = known(assessment.over_datasets), reliability_html(assessment)
    assert not isinstance(found.pairs, Undefined) and not isinstance(found.ranks, Undefined)
    assert f"critical difference {found.ranks.difference:.2f}" in page.lower()
    assert f"{found.pairs[0].above:.2f}" in page and "Without one dataset" in page
    assert "region of practical equivalence of ± 1 point" in page
    assert assessment.to_dict()["over_datasets"]["pairs"][0]["holm"] == found.pairs[0].holm


def test_draws_of_fewer_than_six_datasets_are_no_interval() -> None:
    """The ends of the draws of three datasets stood there as 95 %, beside a t-interval three times as wide."""
    for datasets, enough in ((3, False), (6, True)):
        board = simulate("even", 3, datasets, 0).matrix
        row = known(compare_over_datasets(board, find_rule("mean_run"), replicates=50)).scores[0]
        assert isinstance(row.plain, Interval)
        assert [isinstance(i, Interval) for i in (row.drawn, row.staged)] == [enough, enough]


def test_the_least_corrected_p_is_that_of_a_difference_with_one_sign_everywhere() -> None:
    board = simulate("even", 3, 8, 0).matrix
    found = known(compare_over_datasets(board, find_rule("mean_run"), replicates=50))
    assert isinstance(found.pairs, tuple) and found.least_p == pytest.approx(len(found.pairs) * 2 / 2**8)
    assert signed_rank_p(np.arange(1.0, 9.0)) == pytest.approx(2 / 2**8)
