"""What the one model of a board says of two of its submissions, against known answers."""

from dataclasses import replace

import numpy as np
import pytest

from anyshot_scoring.reliability import Population, ScoreMatrix, align, assess, fit_crossed
from anyshot_scoring.reliability.board_pairs import know_board, know_boards
from anyshot_scoring.reliability.crossed_levels import draw_populations
from anyshot_scoring.rules import find_rule
from anyshot_scoring.table import TaskTable
from anyshot_scoring.undefined import Undefined
from benchmarks.calibration.__main__ import measure_pairs
from benchmarks.calibration.boards import FAMILIES, simulate
from tests.scoring.drawn import draw_table

MEAN, WORST = find_rule("mean_run"), find_rule("worst_run")


def table(level: float, tasks: int = 60, datasets: int = 6, noise: float = 0.05, seed: int = 0) -> TaskTable:
    drawn = draw_table(0, tasks, datasets=datasets)
    score = level + noise * np.random.default_rng(seed).standard_normal(tasks)
    return TaskTable.from_columns({**drawn.columns(), "normalized_accuracy": score})


@pytest.mark.parametrize("family", FAMILIES)
def test_a_pair_is_stated_as_the_reliability_report_states_it(family: str) -> None:
    """They are the same draws."""
    board = simulate(family, 6, 8, 3)
    report = assess(board.matrix, rule=board.rule, replicates=1000)
    known = know_board(board.matrix, find_rule(board.rule))
    for i, (first, second) in enumerate(zip(report.keys, report.keys[1:], strict=False)):
        found = known.judge(first, second)
        for population, own in ((Population.TASKS, found.better), (Population.DATASETS, found.elsewhere)):
            view = report.populations[population]
            assert not isinstance(view, Undefined) and not isinstance(view.neighbours[i].ordered, Undefined)
            assert own == pytest.approx(
                view.neighbours[i].ordered, abs=1e-3
            )  # draws kept in single precision


def test_what_is_drawn_of_a_population_is_the_same_whatever_else_is_asked_for() -> None:
    fit, alone = fit_crossed(simulate("even", 6, 8, 3).matrix), {Population.DATASETS: 8}
    one = draw_populations(fit, MEAN, alone)[Population.DATASETS]
    other = draw_populations(fit, MEAN, {Population.TASKS: 160, **alone})[Population.DATASETS]
    assert not isinstance(one, Undefined) and not isinstance(other, Undefined)
    assert (one.true == other.true).all() and (one.again == other.again).all()


def test_a_pair_turned_round_says_the_opposite() -> None:
    known = know_board(simulate("even", 4, 8, 1).matrix, MEAN)
    one, other = known.judge("s0", "s2"), known.judge("s2", "s0")
    assert not isinstance(one.better, Undefined) and not isinstance(other.better, Undefined)
    assert (one.difference, one.better, one.verdict) == (
        -other.difference, pytest.approx(1 - other.better), other.verdict,
    )  # fmt: skip
    assert not isinstance(one.interval, Undefined) and not isinstance(other.interval, Undefined)
    assert (one.interval.low, one.interval.high) == pytest.approx((-other.interval.high, -other.interval.low))


def test_the_verdict_goes_by_the_runs_that_the_rule_counts() -> None:
    """steady is worse on average, and better by the worst run."""
    board = {
        "steady": [table(0.50, noise=0.005), table(0.51, noise=0.005, seed=1)],
        "wild": [table(0.70, noise=0.005, seed=2), table(0.45, noise=0.005, seed=3)],
    }
    by_worst, by_mean = (know_boards(board, rule)[0].judge("steady", "wild") for rule in (WORST, MEAN))
    assert (by_worst.verdict, by_mean.verdict) == ("different", "different")
    assert by_worst.difference == pytest.approx(0.05, abs=0.005) and by_mean.difference < -0.05
    assert (by_worst.better, by_mean.better) == (1.0, 0.0)


def test_too_few_tasks_and_datasets_say_what_cannot_be_known() -> None:
    few = know_boards({"a": [table(0.6, 5, 1)], "b": [table(0.4, 5, 1, seed=1)]}, MEAN)[0].judge("a", "b")
    assert few.verdict == "undecided" and isinstance(few.interval, Undefined)
    assert isinstance(few.better, Undefined) and isinstance(few.elsewhere, Undefined)
    five = know_boards({"a": [table(0.6, 50, 5)], "b": [table(0.4, 50, 5, seed=1)]}, MEAN)[0].judge("a", "b")
    assert five.verdict == "different" and isinstance(five.elsewhere, Undefined)
    assert "at least 6" in five.elsewhere.reason
    six = know_boards({"a": [table(0.6)], "b": [table(0.4, seed=1)]}, MEAN)[0].judge("a", "b")
    assert not isinstance(six.elsewhere, Undefined) and six.elsewhere > 0.9


def test_equal_submissions_are_equivalent_and_neither_is_better() -> None:
    same = [table(0.5)]
    found = know_boards({"a": same, "b": same, "c": [table(0.6, seed=1)]}, MEAN)[0].judge("a", "b")
    assert (found.difference, found.verdict) == (0.0, "equivalent")
    assert found.better == pytest.approx(0.5, abs=0.05)


def test_runs_on_the_same_tasks_are_no_tasks_more() -> None:
    a, b = table(0.505, noise=0.05), table(0.49, noise=0.05, seed=1)
    board = {"a": [a, a, a], "b": [b, b, b]}
    once, thrice = (know_boards(board, MEAN, shared_tasks=shared)[0] for shared in (True, False))
    assert (once.tasks, thrice.tasks) == (60, 180)
    widths = [found.high - found.low for found in (k.judge("a", "b").interval for k in (once, thrice))]  # pyright: ignore
    assert widths[0] > 1.4 * widths[1]


def test_who_met_other_tasks_is_on_another_board_and_who_lacks_scores_on_none() -> None:
    other = TaskTable.from_columns({**table(0.5).columns(), "task": np.arange(60) + 7})
    torn = TaskTable.from_columns({**table(0.5).columns(), "normalized_accuracy": np.full(60, np.nan)})
    made = {"a": table(0.5), "x": other, "b": table(0.4), "y": other, "torn": torn, "alone": table(0.3, 30)}
    assert [set(board.keys) for board in know_boards({k: [v] for k, v in made.items()}, MEAN)] == [
        {"a", "b"}, {"x", "y"},
    ]  # fmt: skip


def test_ranks_that_are_averaged_know_no_margin() -> None:
    a, b = table(0.501, noise=0.001), table(0.5, noise=0.001, seed=1)
    by_ranks = know_boards({"a": [a], "b": [b]}, find_rule("dataset_ranks_mean"))[0].judge("a", "b")
    assert by_ranks.verdict != "equivalent" and abs(by_ranks.difference) <= 1
    assert know_board(align({"a": [a], "b": [b]}), MEAN).judge("a", "b").verdict == "equivalent"


@pytest.mark.seconds("simulates many boards")
def test_one_of_many_equal_submissions_is_seldom_called_better() -> None:
    """Twenty equal submissions: 190 pairs, none of which differs in truth, and no correction for their number."""
    called = pairs = 0
    for seed in range(10):
        board = simulate("even", 20, 6, seed, level=1e-9)
        # Datasets move submissions too, so these are no equals on these datasets: take that out.
        scores = board.matrix.scores - board.matrix.dataset_means()[board.matrix.dataset]
        scores += (
            0.1 / np.sqrt(20) * np.random.default_rng(seed).standard_normal((6, 20))[board.matrix.dataset]
        )
        known = know_board(replace(board.matrix, scores=scores), MEAN)
        verdicts = [known.judge(a, b).verdict for i, a in enumerate(known.keys) for b in known.keys[:i]]
        called, pairs = called + verdicts.count("different"), pairs + len(verdicts)
    assert called / pairs < 0.02


@pytest.mark.seconds("simulates many boards")
def test_pairs_of_simulated_boards_are_no_worse_than_the_paired_test() -> None:
    """A small part of `python -m benchmarks.calibration`."""
    found = [measure_pairs(family, ((5, 6), (12, 8)), 12) for family in ("even", "worst of three")]
    for row in found:
        assert row["model"]["brier"] < row["paired test"]["brier"] + 0.005
        assert row["model"]["wrongly"] <= 0.01


def test_the_columns_may_come_in_any_order() -> None:
    matrix = simulate("even", 5, 8, 2).matrix
    turned = matrix.submissions([3, 1, 4, 0, 2])
    one, other = know_board(matrix, MEAN).judge("s1", "s3"), know_board(turned, MEAN).judge("s1", "s3")
    assert isinstance(matrix, ScoreMatrix) and one == other
