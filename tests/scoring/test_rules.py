"""Every ranking rule on one table of runs, with everything that follows from it worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyshot_scoring.errors import NothingToRank
from anyshot_scoring.joins import JOINS
from anyshot_scoring.rankings import RankedEntry, rank
from anyshot_scoring.rules import RULES, SeededRun, find_rule
from tests.scoring.known_rules import KNOWN, TABLE


def runs_of(team: str) -> list[SeededRun]:
    return [
        SeededRun(mean, {"X": x, "Y": y}, half_width=mean / 10, half_widths={"X": x / 10, "Y": y / 10})
        for mean, x, y in TABLE[team]
    ]


def enter(rule: str, key: str, submitted: float, runs: list[SeededRun]) -> RankedEntry:
    result = find_rule(rule).result(runs)
    return RankedEntry(key, submitted, result.score, result.by_dataset)


def board(rule: str) -> list[RankedEntry]:
    return [enter(rule, team, time, runs_of(team)) for time, team in enumerate(TABLE)]


def test_every_rule_is_worked_out_by_hand() -> None:
    assert set(KNOWN) == set(RULES), "a new rule comes with its line in the table"
    answers = {tuple(sorted(known.keys.items())) for known in KNOWN.values()}
    assert len(answers) >= len(RULES) - 1, "but for mean and median of the runs, no two rules agree on it"


@pytest.mark.parametrize("rule", RULES)
def test_scores_keys_and_order_are_those_on_paper(rule: str) -> None:
    standings = rank(board(rule), rule)
    assert tuple(standing.key for standing in standings) == KNOWN[rule].order
    assert [standing.rank for standing in standings] == [1, 2, 3]
    assert {s.key: s.value for s in standings} == pytest.approx(KNOWN[rule].keys)
    assert {entry.key: entry.score for entry in board(rule)} == pytest.approx(KNOWN[rule].scores)


@pytest.mark.parametrize("rule", RULES)
def test_replicates_are_ranked_by_what_the_board_is_ranked_by(rule: str) -> None:
    runs = np.array([[[TABLE[t][r][0] for t in TABLE] for r in range(3)]] * 2)
    datasets = np.array([[[[TABLE[t][r][d] for t in TABLE] for d in (1, 2)] for r in range(3)]] * 2)
    points = find_rule(rule).points(runs, datasets)
    assert points == pytest.approx(np.array([[-KNOWN[rule].keys[team] for team in TABLE]] * 2))


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_gives_a_single_run_as_it_is_but_for_the_worst_dataset(rule: str) -> None:
    result = find_rule(rule).result(runs_of("ada")[:1])
    by_dataset = rule == "worst_dataset"
    assert (result.score, result.half_width) == ((0.10, 0.01) if by_dataset else (0.50, 0.05))
    assert (dict(result.by_dataset), result.shown, result.counting) == ({"X": 0.90, "Y": 0.10}, 0, (True,))


@pytest.mark.parametrize(
    ("rule", "shown", "counting"),
    [
        ("worst_run", 0, (True, False, False)),
        ("mean_run", 1, (True, True, True)),
        ("median_run", 1, (False, True, False)),
        (
            "dataset_ranks_worst",
            0,
            (True, True, False),
        ),  # the lowest on Y is the first run's, on X the second's
        ("dataset_ranks_mean", 1, (True, True, True)),
        ("dataset_ranks_median", 1, (False, False, True)),
        ("worst_dataset", 1, (True, True, True)),
    ],
)
def test_which_runs_count_and_which_one_stands_for_the_entry(
    rule: str, shown: int, counting: tuple[bool, ...]
) -> None:
    result = find_rule(rule).result(runs_of("ada"))
    assert (result.shown, result.counting) == (shown, counting)
    run = TABLE["ada"][shown]
    assert result.half_width == pytest.approx((run[2] if rule == "worst_dataset" else run[0]) / 10)


# Of four entries. On X bob is first by the lowest and the mean of the runs, second by the median.
@pytest.mark.parametrize(
    ("rule", "value"),
    [("dataset_ranks_worst", 2.5), ("dataset_ranks_mean", 2.5), ("dataset_ranks_median", 3.0)],
)
def test_a_run_that_failed_on_a_dataset_has_the_worst_rank_there(rule: str, value: float) -> None:
    failed = [*runs_of("bob")[:2], SeededRun(0.9, {"X": 0.99, "Y": None})]
    last = [SeededRun(0.0, {"X": 0.0, "Y": 0.0})]
    entries = [enter(rule, "bob", 0, failed), *board(rule)[::2], enter(rule, "last", 9, last)]
    assert {s.key: s.value for s in rank(entries, rule)}["bob"] == value


def test_all_that_fail_on_a_dataset_have_the_worst_rank_there_and_ties_share_theirs() -> None:
    rule = "dataset_ranks_worst"
    scores = {"a": 0.5, "b": None, "c": None}
    entries = [enter(rule, key, 0, [SeededRun(0.0, {"X": score})]) for key, score in scores.items()]
    assert {s.key: s.value for s in rank(entries, rule)} == {"a": 1, "b": 3, "c": 3}
    tied = [enter(rule, key, 0, [SeededRun(0.0, {"X": 0.5})]) for key in "ab"]
    assert [s.value for s in rank(tied, rule)] == [1.5, 1.5]
    nowhere = [enter(rule, key, 0, [SeededRun(0.0, {"X": None})]) for key in "ab"]
    assert [s.value for s in rank(nowhere, rule)] == [2, 2]


def test_a_dataset_of_which_a_run_has_no_tasks_is_no_failure_where_none_is_forgiven() -> None:
    runs = [SeededRun(0.5, {"X": 0.4, "Y": 0.6}), SeededRun(0.7, {"X": 0.7})]
    assert find_rule("worst_dataset").result(runs).by_dataset == pytest.approx({"X": 0.55, "Y": 0.6})
    assert find_rule("dataset_ranks_worst").result(runs).by_dataset == {"X": 0.4}
    with pytest.raises(NothingToRank, match="scores on each dataset"):
        find_rule("worst_dataset").result([SeededRun(0.5)])


@pytest.mark.parametrize("runs", [[], [SeededRun(0.5), SeededRun(math.nan)], [SeededRun(math.inf)]])
def test_runs_without_a_score_cannot_be_ranked(runs: list[SeededRun]) -> None:
    with pytest.raises(NothingToRank, match="without a score"):
        find_rule("worst_run").result(runs)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=9))
def test_joins_are_what_they_say_and_know_their_parts(values: list[float]) -> None:
    wanted = {"worst": min(values), "mean": np.mean(values), "median": np.median(values)}
    for name, join in JOINS.items():
        assert join.figure(values) == pytest.approx(wanted[name])
        parts = [value for value, counts in zip(values, join.counting(values), strict=True) if counts]
        assert np.mean(parts) == pytest.approx(wanted[name])


@pytest.mark.parametrize("name", RULES)
def test_every_rule_says_what_counts_in_words(name: str) -> None:
    rule = RULES[name]
    assert rule.name == name
    for runs in (None, 1, 3):
        words = rule.words(runs)
        assert words.endswith("the earlier submission is ranked first.")
        assert ("runs" in words) == (runs != 1)
        assert (runs == 3) == ("the 3 runs" in words)
    assert rule.join.noun in rule.words(3)
    assert rule.join.noun in rule.score_words(3)
    assert "runs" not in rule.score_words(1)


def test_an_unknown_rule_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(NothingToRank, match="no ranking rule 'luckiest'; there are worst_run"):
        find_rule("luckiest")
