import pytest

from anyshot_scoring.difficulty import Difficulty, measure_difficulty
from anyshot_scoring.errors import ScoringError

SCORES = {"strong": {"A": 0.9, "B": 0.2}, "middle": {"A": 0.5, "B": 0.4}, "weak": {"A": 0.1, "B": 0.3}}


def test_the_best_and_the_worst_on_each_dataset():
    a, b = measure_difficulty(SCORES)
    assert (a.dataset, a.intrinsic, a.modelling) == ("A", pytest.approx(0.1), pytest.approx(0.8))
    assert (b.dataset, b.intrinsic, b.modelling) == ("B", pytest.approx(0.6), pytest.approx(0.2))


def test_named_baselines_count_everywhere_even_where_they_are_not_the_extremes():
    a, b = measure_difficulty(SCORES, best="strong", worst="weak")
    assert a.modelling == pytest.approx(0.8)
    assert (b.intrinsic, b.modelling) == (pytest.approx(0.8), pytest.approx(-0.1))


def test_intervals_are_those_of_the_best_and_of_the_difference():
    """Of the baselines that were picked; unknown ones stay so, and one baseline differs from itself by nothing."""
    halves = {
        "strong": {"A": 0.03, "B": 0.05},
        "middle": {"A": 0.2, "B": 0.06},
        "weak": {"A": 0.04, "B": None},
    }
    a, b = measure_difficulty(SCORES, halves=halves)
    assert (a.intrinsic_half, a.modelling_half) == (0.03, pytest.approx(0.05))
    assert (b.intrinsic_half, b.modelling_half) == (0.06, pytest.approx((0.06**2 + 0.05**2) ** 0.5))
    _, named = measure_difficulty(SCORES, "strong", "weak", halves)
    assert (named.intrinsic_half, named.modelling_half) == (0.05, None)
    (only,) = measure_difficulty({"only": {"A": 0.25}}, halves={"only": {"A": 0.1}})
    assert (only.intrinsic_half, only.modelling_half) == (0.1, None)


def test_one_baseline_has_no_modelling_difficulty():
    assert measure_difficulty({"only": {"A": 0.25}}) == [Difficulty("A", 0.75, 0.0)]


@pytest.mark.parametrize(
    ("scores", "best", "message"),
    [
        ({}, None, "at least one"),
        ({"a": {"A": 0.1}, "b": {"B": 0.1}}, None, "a has no score on B"),
        ({"a": {"A": float("nan")}}, None, "not finite"),
        ({"a": {"A": 0.1}}, "b", "no baseline b"),
    ],
)
def test_what_is_missing_is_named(scores: dict[str, dict[str, float]], best: str, message: str):
    with pytest.raises(ScoringError, match=message):
        measure_difficulty(scores, best=best)
