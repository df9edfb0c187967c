from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from anyshot_scoring.errors import ScoringError
from anyshot_scoring.reliability import Flips, count_flips, subset_flips
from anyshot_scoring.undefined import Undefined


def known(result: Flips | Undefined) -> Flips:
    assert isinstance(result, Flips)
    return result


@pytest.mark.parametrize("size", [1, 3, 5, 8])
def test_flips_and_exaggerations_are_those_of_all_subsets(size: int):
    differences = np.array([0.3, -0.2, 0.1, 0.05, -0.15, 0.02, 0.21, -0.04])
    lead = differences.mean()
    means = np.array([differences[list(chosen)].mean() for chosen in combinations(range(8), size)])
    result = known(subset_flips(differences, size, subsets=40_000))
    assert result.lead == pytest.approx(lead)
    assert result.flip == pytest.approx((means < 0).mean(), abs=0.01)
    assert result.exaggeration == pytest.approx((means > lead + 0.005).mean(), abs=0.01)


def test_the_sign_of_the_lead_does_not_matter():
    differences = np.random.default_rng(0).normal(0.02, 0.1, 40)
    there, back = known(subset_flips(differences, 10)), known(subset_flips(-differences, 10))
    assert there.flip == pytest.approx(back.flip)


def test_the_planning_formula_predicts_the_flips_of_normal_differences():
    differences = np.random.default_rng(1).normal(0.02, 0.1, 200)
    result = known(subset_flips(differences, 20, subsets=40_000))
    deviation = differences.std(ddof=1) * np.sqrt((1 - 20 / 200) / 20)
    assert result.predicted_flip == pytest.approx(stats.norm.cdf(-abs(differences.mean()) / deviation))
    assert result.flip == pytest.approx(result.predicted_flip, abs=0.015)


def test_strata_draw_of_each_dataset():
    differences = np.array([0.1, 0.2, 0.3, -0.1, 0.0, 0.1])
    strata = np.array([0, 0, 0, 1, 1, 1])
    means = [(a + b) / 2 for a in differences[:3] for b in differences[3:]]
    result = known(subset_flips(differences, 1, strata=strata, subsets=40_000))
    assert result.lead == pytest.approx(0.1)
    assert result.exaggeration == pytest.approx(np.mean([m > 0.105 for m in means]), abs=0.01)
    assert result.flip == 0.0


def test_all_units_never_flip():
    result = known(subset_flips([0.3, -0.1, 0.1], 3))
    assert (result.flip, result.exaggeration, result.predicted_flip) == (0.0, 0.0, 0.0)


def test_both_counts_are_strict():
    assert count_flips([0.0, -0.1, 0.2, 0.105, 0.1], 0.1) == (0.2, 0.2)


def test_no_lead_is_undefined_and_too_few_subsets_are_refused():
    assert isinstance(subset_flips([0.1, -0.1], 1), Undefined)
    with pytest.raises(ScoringError, match="at least 1000"):
        subset_flips([0.1, 0.2], 1, subsets=100)
    with pytest.raises(ScoringError, match="cannot be drawn"):
        subset_flips([0.1, 0.2], 3)
    with pytest.raises(ScoringError, match="finite"):
        subset_flips([0.1, np.nan], 1)


def test_exact_ties_are_no_flips_whatever_rounding_makes_of_them():
    rng = np.random.default_rng(0)
    hits = rng.integers(-3, 4, 20)
    hits[0] += 2 - hits.sum()  # leads by two queries of 400
    result = known(subset_flips(hits / 20.0, 10, subsets=20_000, seed=1))
    drawn = np.array([rng.permutation(hits)[:10].sum() for _ in range(20_000)])
    assert result.flip == pytest.approx((drawn < 0).mean(), abs=0.02)
    assert result.tie == pytest.approx((drawn == 0).mean(), abs=0.02) and result.tie > 0.02
    assert count_flips(np.array([1e-16, -1e-16, 0.1 + 0.2 - 0.3]), 0.1) == (0.0, 0.0)


def test_all_halves_of_six_datasets_are_counted_once_each():
    differences = [0.05, 0.03, -0.02, 0.01, -0.03, 0.02]
    result = known(subset_flips(differences, 3))
    assert (result.subsets, result.exact) == (20, True)
    assert round(result.flip * 20, 9) == round(result.flip * 20)
    strata = known(subset_flips([*differences, 0.4, -0.1], 1, strata=[0] * 6 + [1] * 2))
    assert strata.subsets == 12 and strata.exact
