import numpy as np
import pytest

from anyshot_scoring.errors import ScoringError
from anyshot_scoring.reliability import ScoreMatrix, find_groups, rank_reliability, resample
from tests.scoring.simulated import draw_matrix


def judge(matrix: ScoreMatrix, seed: int = 0, replicates: int = 1_000):
    # Another seed than the matrix has, or both would come from the same random numbers.
    drawn = resample(matrix, "tasks", replicates=replicates, seed=seed + 10_000)
    return rank_reliability(matrix.scores.mean(axis=0), drawn, len(matrix.scores))


def test_clear_leads_are_certain():
    result = judge(draw_matrix(0, [0.2, 0.8, 0.5]))
    assert result.rank.tolist() == [3, 1, 2]
    assert result.low.tolist() == result.high.tolist() == [3, 1, 2]
    assert result.first.tolist() == [0, 1, 0]
    assert result.better[1].tolist() == [1.0, 0.5, 1.0]
    assert result.groups == ()


def test_equal_submissions_can_have_any_rank():
    result = judge(draw_matrix(3, [0.5] * 4))
    assert result.low.tolist() == [1] * 4
    assert result.high.tolist() == [4] * 4
    assert result.first.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(result.better + result.better.T, 1.0)
    assert len(result.groups) == 1


def test_identical_submissions_share_everything_but_the_tie_goes_to_the_earlier():
    matrix = draw_matrix(0, [0.5, 0.5])
    matrix.scores[:, 1] = matrix.scores[:, 0]
    result = judge(matrix)
    assert result.rank.tolist() == [1, 2]
    assert result.first.tolist() == [1.0, 0.0]
    assert result.better[0, 1] == 0.5
    assert not result.separated.any()


def test_permuting_the_submissions_permutes_the_answer():
    matrix = draw_matrix(1, [0.50, 0.53, 0.505, 0.8])
    drawn = resample(matrix, "tasks", replicates=500)
    order = np.array([2, 0, 3, 1])
    straight = rank_reliability(matrix.scores.mean(axis=0), drawn, 300)
    shuffled = rank_reliability(matrix.scores.mean(axis=0)[order], drawn[:, order], 300)
    for name in ("rank", "low", "high", "first"):
        np.testing.assert_array_equal(getattr(shuffled, name), getattr(straight, name)[order])


def test_rank_intervals_hold_the_true_rank_as_often_as_they_say():
    levels = np.array([0.50, 0.505, 0.51, 0.53, 0.53, 0.60])
    true_low = np.array([1 + np.sum(levels > level) for level in levels])
    true_high = np.array([np.sum(levels >= level) for level in levels])
    hits = np.zeros(len(levels))
    for seed in range(200):
        result = judge(draw_matrix(seed, levels), seed, replicates=300)
        hits += (result.low <= true_high) & (true_low <= result.high)
    assert (hits / 200 >= 0.93).all()


@pytest.mark.seconds("simulates many boards")
def test_equal_pairs_are_rarely_separated():
    wrong = sum(
        judge(draw_matrix(seed, [0.5] * 5), seed, replicates=300).separated.any() for seed in range(400)
    )
    assert wrong / 400 <= 0.08


def test_groups_are_the_longest_stretches_and_may_overlap():
    separated = np.zeros((4, 4), bool)
    separated[0, 2] = separated[2, 0] = True
    separated[0, 3] = separated[3, 0] = separated[1, 3] = separated[3, 1] = True
    assert find_groups(np.array([1, 2, 3, 4]), separated) == ((0, 1), (1, 2), (2, 3))
    assert find_groups(np.array([4, 3, 2, 1]), separated) == ((3, 2), (2, 1), (1, 0))
    assert find_groups(np.array([1, 2]), np.array([[False, True], [True, False]])) == ()
    assert find_groups(np.array([1, 2, 3]), np.zeros((3, 3), bool)) == ((0, 1, 2),)


def test_a_single_unit_separates_nobody():
    scores, drawn = np.array([0.1, 0.9]), np.array([[0.1, 0.9], [0.1, 0.9], [0.11, 0.91]])
    result = rank_reliability(scores, drawn, 1)
    assert result.low.tolist() == [1, 1]
    assert result.high.tolist() == [2, 2]


def test_one_submission_is_first():
    result = rank_reliability(np.array([0.5]), np.array([[0.4], [0.6]]), 10)
    assert (result.low[0], result.high[0], result.first[0]) == (1, 1, 1.0)


def test_replicates_must_fit():
    with pytest.raises(ScoringError, match="replicates"):
        rank_reliability(np.array([0.5]), np.zeros((5, 2)), 10)
