from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyshot_scoring.errors import NothingToRank
from anyshot_scoring.rankings import Rank, RankedEntry, choose_entry, passes_gate, rank, value_beside
from anyshot_scoring.rules import RULES


def places(standings: Iterable[Rank]) -> dict[str, int]:
    return {standing.key: standing.rank for standing in standings}


def test_of_equal_scores_the_earlier_is_first_and_equal_times_share_the_rank():
    entries = [
        RankedEntry("late", 5, 0.5),
        RankedEntry("a", 3, 0.5),
        RankedEntry("b", 3, 0.5),
        RankedEntry("low", 1, 0.4),
    ]
    assert places(rank(entries, "worst_run")) == {"a": 1, "b": 1, "late": 3, "low": 4}


def test_of_equal_average_ranks_the_earlier_is_first():
    entries = [
        RankedEntry("late", 5, 0.9, {"X": 0.9, "Y": 0.1}),
        RankedEntry("early", 3, 0.2, {"X": 0.1, "Y": 0.3}),
    ]
    assert places(rank(entries, "dataset_ranks_worst")) == {"early": 1, "late": 2}


@pytest.mark.seconds("many draws")
@given(
    st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.3]), st.integers(0, 3)), min_size=1, max_size=12),
    st.randoms(use_true_random=False),
)
def test_the_order_in_which_entries_come_does_not_matter(drawn: list[tuple[float, int]], random: Random):
    entries = [RankedEntry(f"s{i}", time, score) for i, (score, time) in enumerate(drawn)]
    shuffled = entries.copy()
    random.shuffle(shuffled)
    assert rank(shuffled, "worst_run") == rank(entries, "worst_run")
    values = [standing.value for standing in rank(entries, "worst_run")]
    assert values == sorted(values)


@pytest.mark.parametrize("rule", RULES)
def test_nobody_and_one_alone_are_ranked(rule: str):
    assert rank([], rule) == []
    assert places(rank([RankedEntry("a", 1, 0.5, {"X": 0.5})], rule)) == {"a": 1}


def test_a_row_out_of_the_ranking_has_the_value_that_it_would_have_in_it():
    ranked = [RankedEntry("a", 1, 0.5, {"X": 0.9, "Y": 0.1}), RankedEntry("b", 2, 0.5, {"X": 0.1, "Y": 0.9})]
    baseline = RankedEntry("z", 0, 0.5, {"X": 0.5, "Y": 0.5})
    assert value_beside(baseline, ranked, "dataset_ranks_worst") == 2
    assert value_beside(baseline, ranked, "worst_run") == -0.5


def test_the_last_or_the_best_submission_stands_for_a_team():
    own = [RankedEntry("first", 1, 0.8), RankedEntry("second", 2, 0.8), RankedEntry("third", 3, 0.2)]
    for entries in (own, own[::-1]):
        last, best = (choose_entry(entries, choice, "worst_run") for choice in ("last", "best"))
        assert last is not None
        assert best is not None
        assert (last.key, best.key) == ("third", "first")
    assert choose_entry([], "last", "worst_run") is choose_entry([], "best", "worst_run") is None
    with pytest.raises(NothingToRank, match="not 'luckiest'"):
        choose_entry(own, "luckiest", "worst_run")  # pyright: ignore[reportArgumentType]


def test_the_best_of_a_team_is_the_one_that_its_rule_ranks_first():
    own = [
        RankedEntry("even", 1, 0.50, {"X": 0.5, "Y": 0.5, "Z": 0.5}),
        RankedEntry("peak", 2, 0.54, {"X": 0.9, "Y": 0.36, "Z": 0.36}),
    ]
    for rule, wanted in {"worst_run": "peak", "dataset_ranks_worst": "even"}.items():
        best = choose_entry(own, "best", rule)
        assert best is not None
        assert best.key == wanted


def test_neither_a_tie_nor_a_gate_hangs_on_the_last_digit():
    """The mean of the same answers in another order: the earlier is first, and what equals the gate stays out."""
    by_one_order, by_another = (0.1 + 0.2) + 0.3, 0.1 + (0.2 + 0.3)
    assert by_one_order > by_another
    for rule in RULES:
        alike = [
            RankedEntry("early", 1, by_another, {"d": by_another, "e": by_one_order}),
            RankedEntry("late", 2, by_one_order, {"d": by_one_order, "e": by_another}),
        ]
        assert places(rank(alike, rule)) == {"early": 1, "late": 2}, rule
        same = [RankedEntry(one.key, 1, one.score, one.by_dataset) for one in alike]
        assert places(rank(same, rule)) == {"early": 1, "late": 1}, rule
    assert not passes_gate(by_one_order, by_another)
    assert passes_gate(by_another + 1e-9, by_one_order)


def test_a_gate_lets_through_what_lies_above_it():
    assert passes_gate(0.362, 0.361)
    assert not passes_gate(0.361, 0.361)
    assert not passes_gate(None, 0.361)
    assert passes_gate(0.1, None)
    assert passes_gate(-0.1, -0.2)
    assert not passes_gate(-0.1, 0.0)
