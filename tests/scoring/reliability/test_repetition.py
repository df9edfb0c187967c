"""What a score owes to repetition has the noise of what the ranking rule counts, and ranks are set beside no scores."""

from dataclasses import replace

import numpy as np
import pytest

from anyshot_scoring.reliability import ScoreMatrix, assess
from anyshot_scoring.reliability.repetition import Repetition, noise_of_score, weigh_repetition
from anyshot_scoring.rules import find_rule
from anyshot_scoring.undefined import Undefined
from tests.scoring.simulated import draw_matrix

SD = 0.1  # of a task's noise in `draw_matrix`, each submission's own


def noise(board: ScoreMatrix, rule: str) -> float:
    found = noise_of_score(board, find_rule(rule))
    assert not isinstance(found, Undefined), found
    return found


def test_noise_of_the_mean_of_the_runs_is_that_of_a_mean_over_all_tasks() -> None:
    """Two ways to it: the known noise, and the mean square of what rows and columns leave, by (T - 1)(S - 1)."""
    board = draw_matrix(0, [0.5, 0.52, 0.6, 0.61, 0.7], datasets=4, tasks=100, runs=3)
    rest = board.scores - board.scores.mean(axis=1, keepdims=True)
    rest -= rest.mean(axis=0)
    tasks, entries = rest.shape
    by_squares = np.sqrt((rest**2).sum() / ((tasks - 1) * (entries - 1)) / tasks)
    assert noise(board, "mean_run") == pytest.approx(by_squares, rel=0.02)
    assert noise(board, "mean_run") == pytest.approx(SD / np.sqrt(1200), rel=0.04)
    assert noise(board, "dataset_ranks_mean") == noise(board, "mean_run")  # the score shown is the same


def test_of_two_submissions_the_noise_is_that_of_their_difference_over_the_root_of_two() -> None:
    """What two share, their mean, has half of the square of each: S / (S - 1) gives it back."""
    board = draw_matrix(1, [0.5, 0.6], datasets=2, tasks=400)
    first, second = board.scores.T
    error = (first - second).std(ddof=1) / np.sqrt(800)
    assert noise(board, "mean_run") == pytest.approx(error / np.sqrt(2), rel=0.03)


def test_noise_leaves_out_what_all_submissions_share() -> None:
    board = draw_matrix(2, [0.5, 0.6, 0.7], datasets=2, tasks=400)
    shared = 0.3 * np.random.default_rng(0).standard_normal((len(board.scores), 1))
    hard = replace(board, scores=board.scores + shared)
    assert noise(hard, "mean_run") == pytest.approx(noise(board, "mean_run"), rel=1e-6)


def test_a_run_that_counts_alone_has_the_noise_of_its_own_tasks() -> None:
    """The third run is worse by far: the worst run has a third of the tasks, the worst dataset a quarter."""
    board = draw_matrix(3, [0.5, 0.5, 0.5, 0.5], datasets=4, tasks=100, runs=3)
    by_run = replace(board, scores=board.scores - 0.3 * (board.run == 2)[:, None])
    assert noise(by_run, "worst_run") == pytest.approx(SD / np.sqrt(400), rel=0.04)
    by_dataset = replace(board, scores=board.scores - 0.3 * (board.dataset == 1)[:, None])
    assert noise(by_dataset, "worst_dataset") == pytest.approx(SD / np.sqrt(300), rel=0.04)
    for rule, changed in (("worst_run", by_run), ("worst_dataset", by_dataset)):
        found = assess(changed, replicates=1000, rule=rule, submissions=dict.fromkeys(changed.keys, 2))
        assert isinstance(found.repetition, Repetition) and isinstance(found.repetition.luck, tuple)
        assert found.repetition.luck[0].owed == pytest.approx(noise(changed, rule) / np.sqrt(np.pi), rel=0.03)


def test_average_ranks_are_not_set_beside_scores() -> None:
    """Feedback scores are those of the board itself: nothing was raised, and the slope of ranks on them was 1.38."""
    board = draw_matrix(4, np.linspace(0.5, 0.6, 8), datasets=6)
    counts = {key: 2**place for place, key in enumerate(board.keys)}
    feedback = dict(zip(board.keys, board.scores.mean(axis=0).tolist(), strict=True))
    rule = find_rule("dataset_ranks_worst")
    points = rule.points(board.run_means(), board.run_dataset_means())
    found = weigh_repetition(board, points, rule, feedback, counts)
    assert isinstance(found, Repetition) and isinstance(found.gap, Undefined)
    assert found.gap.reason == "the rule ranks by average ranks, and feedback scores are scores"
    assert isinstance(found.luck, Undefined) and "average ranks" in found.luck.reason
    alone = weigh_repetition(board, points, rule, None, counts)
    assert isinstance(alone, Repetition) and isinstance(alone.luck, Undefined)
    assert isinstance(alone.gap, Undefined) and "no feedback phase" in alone.gap.reason


def test_where_tasks_do_not_vary_by_what_is_known_there_is_no_noise() -> None:
    rule = find_rule("mean_run")
    for board in (draw_matrix(0, [0.5]), draw_matrix(0, [0.5, 0.6], tasks=1)):
        found = noise_of_score(board, rule)
        assert isinstance(found, Undefined) and "two submissions, and two tasks" in found.reason
    board = draw_matrix(0, [0.5, 0.6])
    missing = weigh_repetition(board, board.scores.mean(axis=0), rule, None, {"s0": 1})
    assert isinstance(missing, Undefined) and "nobody said" in missing.reason
