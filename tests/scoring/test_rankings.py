import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyshot_scoring.errors import NothingToRank
from anyshot_scoring.rankings import (
    RULES,
    Entry,
    Run,
    average_dataset_ranks,
    choose_entries,
    combine_runs,
    find_rule,
    rank,
    rank_league,
)


def entry(key: str, submitted: float, *scores: float, **others) -> Entry:
    return Entry(key, submitted, tuple(Run(score) for score in scores), **others)


def places(standings) -> dict[str, int]:
    return {standing.key: standing.rank for standing in standings}


def test_the_lowest_of_three_runs_counts():
    board = rank([entry("steady", 1, 0.60, 0.61, 0.62), entry("lucky", 2, 0.59, 0.90, 0.90)], "worst_run")
    assert places(board) == {"steady": 1, "lucky": 2}
    assert board[1].value == 0.59


def test_mean_and_median_rank_otherwise():
    entries = [entry("steady", 1, 0.60, 0.61, 0.62), entry("lucky", 2, 0.59, 0.90, 0.90)]
    assert places(rank(entries, "mean_run")) == {"lucky": 1, "steady": 2}
    assert rank(entries, "median_run")[0].value == 0.90


def test_of_equal_scores_the_earlier_is_first_and_equal_times_share_the_rank():
    board = rank(
        [entry("late", 5, 0.5), entry("a", 3, 0.5), entry("b", 3, 0.5), entry("low", 1, 0.4)], "worst_run"
    )
    assert places(board) == {"a": 1, "b": 1, "late": 3, "low": 4}


@given(
    st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.3]), st.integers(0, 3)), min_size=1, max_size=12),
    st.randoms(use_true_random=False),
)
def test_the_order_in_which_entries_come_does_not_matter(drawn, random):
    entries = [entry(f"s{i}", time, score) for i, (score, time) in enumerate(drawn)]
    shuffled = entries.copy()
    random.shuffle(shuffled)
    assert rank(shuffled, "worst_run") == rank(entries, "worst_run")
    values = [standing.value for standing in rank(entries, "worst_run")]
    assert values == sorted(values, reverse=True)


def test_the_average_of_dataset_ranks_by_hand():
    def on(*runs: dict[str, float | None]) -> tuple[Run, ...]:
        return tuple(Run(0.0, run) for run in runs)

    entries = [
        Entry("a", 1, on({"X": 0.9, "Y": 0.1}, {"X": 0.8, "Y": 0.2})),
        Entry("b", 2, on({"X": 0.7, "Y": 0.5}, {"X": 0.9, "Y": 0.6})),
        Entry("c", 3, on({"X": 0.9, "Y": 0.9}, {"X": None, "Y": 0.9})),
    ]
    assert average_dataset_ranks(entries) == [(1 + 3) / 2, (2 + 2) / 2, (3 + 1) / 2]
    board = rank(entries, "dataset_ranks_worst")
    assert places(board) == {"a": 1, "b": 2, "c": 3}
    assert not find_rule("dataset_ranks_worst").higher


def test_all_that_fail_on_a_dataset_get_the_worst_rank_there():
    entries = [
        Entry(key, 0, (Run(0.0, {"X": score}),)) for key, score in (("a", 0.5), ("b", None), ("c", None))
    ]
    assert average_dataset_ranks(entries) == [1, 3, 3]


def test_ties_on_a_dataset_share_the_average_rank():
    entries = [Entry(key, 0, (Run(0.0, {"X": 0.5}),)) for key in "ab"]
    assert average_dataset_ranks(entries) == [1.5, 1.5]


def test_a_league_ranks_its_own_members_above_its_gate_only():
    entries = [
        entry("open", 1, 0.9, leagues=frozenset({"free"}), gate_score=0.9),
        entry("both", 2, 0.7, leagues=frozenset({"free", "meta"}), gate_score=0.7),
        entry("gate", 3, 0.8, leagues=frozenset({"meta"}), gate_score=0.361),
        entry("none", 4, 0.8, leagues=frozenset({"meta"})),
    ]
    assert places(rank_league(entries, "worst_run", "meta", gate=0.361)) == {"both": 1}
    assert places(rank_league(entries, "worst_run", "meta")) == {"gate": 1, "none": 2, "both": 3}
    assert places(rank_league(entries, "worst_run", "free")) == {"open": 1, "both": 2}


def test_a_board_of_the_last_or_the_best_submissions():
    own = {"team": [entry("first", 1, 0.8), entry("second", 2, 0.8), entry("third", 3, 0.2)], "nobody": []}
    assert [e.key for e in choose_entries(own, "last", "worst_run")] == ["third"]
    assert [e.key for e in choose_entries(own, "best", "worst_run")] == ["first"]
    with pytest.raises(NothingToRank):
        choose_entries(own, "luckiest", "worst_run")  # pyright: ignore[reportArgumentType]


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=9))
def test_worst_mean_and_median_are_what_they_say(scores):
    assert combine_runs("worst", scores) == min(scores)
    assert combine_runs("mean", scores) == pytest.approx(np.mean(scores))
    assert combine_runs("median", scores) == pytest.approx(np.median(scores))
    assert combine_runs("worst", scores) <= combine_runs("median", scores)


@pytest.mark.parametrize("scores", [[], [0.5, float("nan")], [float("inf")]])
def test_runs_without_a_score_cannot_be_combined(scores):
    with pytest.raises(NothingToRank):
        combine_runs("worst", scores)


def test_unknown_names_are_refused():
    with pytest.raises(NothingToRank, match="no combination 'luckiest'"):
        combine_runs("luckiest", [0.1])
    with pytest.raises(NothingToRank, match="no ranking rule"):
        rank([], "luckiest")
    with pytest.raises(NothingToRank, match="scores on each dataset"):
        rank([entry("a", 1, 0.5)], "dataset_ranks_worst")


def test_every_rule_has_words_ranks_nobody_and_ranks_one():
    alone = Entry("a", 1, (Run(0.5, {"X": 0.5}),))
    for name, rule in RULES.items():
        assert rule.name == name
        assert rule.title
        assert rule.words.endswith("first.")
        assert rule([]) == []
        assert places(rule([alone])) == {"a": 1}
