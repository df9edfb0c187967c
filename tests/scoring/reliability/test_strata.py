"""Order of the board by ways and shots, on matrices whose crossings are known."""

from dataclasses import replace

import numpy as np
import pytest

from anyshot_scoring.reliability import ScoreMatrix, order_by, tau_b
from anyshot_scoring.undefined import Undefined
from tests.scoring.simulated import draw_matrix

WAYS = [2, 5, 10, 20]


def cross(matrix: ScoreMatrix, column: int, ways: int, bonus: float) -> ScoreMatrix:
    scores = matrix.scores.copy()
    scores[matrix.ways == ways, column] += bonus
    return replace(matrix, scores=scores)


def test_means_and_leaders_are_those_of_the_tasks_with_that_value():
    matrix = draw_matrix(0, [0.7, 0.6, 0.5], ways=WAYS)
    strata = order_by(matrix, "ways").strata
    assert [s.value for s in strata] == WAYS
    assert sum(s.tasks for s in strata) == len(matrix.task)
    for s in strata:
        own = matrix.scores[matrix.ways == s.value]
        assert s.scores == pytest.approx(own.mean(axis=0))
        assert s.leader == matrix.keys[int(own.mean(axis=0).argmax())]
        assert s.tau == tau_b(own.mean(axis=0), matrix.scores.mean(axis=0))


def test_parallel_curves_do_not_cross():
    assert order_by(draw_matrix(0, [0.7, 0.6, 0.5], ways=WAYS), "ways").crossings == ()


def test_a_planted_crossing_is_found_where_it_is_and_is_certain():
    matrix = cross(draw_matrix(0, [0.7, 0.6, 0.5], ways=WAYS), column=1, ways=20, bonus=0.3)
    (crossing,) = order_by(matrix, "ways").crossings
    assert (crossing.first, crossing.second) == ("s0", "s1")
    assert crossing.turned == crossing.certain == (20,)
    assert order_by(matrix, "ways").strata[-1].leader == "s1"


@pytest.mark.seconds("simulates many boards")
def test_equal_submissions_cross_without_certainty_at_the_stated_rate():
    """Under no difference, some value is called certain in at most 5 % of boards (one side: 2.5 %)."""
    certain = 0
    for seed in range(400):
        crossings = order_by(draw_matrix(seed, [0.5, 0.5], ways=WAYS), "ways").crossings
        certain += any(c.certain for c in crossings)
    assert certain / 400 <= 0.05


def test_a_single_value_and_a_single_task_have_no_interval():
    matrix = draw_matrix(0, [0.5, 0.6], datasets=1, tasks=1)
    (only,) = order_by(matrix, "shots").strata
    assert only.half_widths == (None, None)
    (crossing,) = order_by(matrix, "shots").crossings or (None,)
    assert crossing is None or crossing.certain == ()
    assert isinstance(order_by(draw_matrix(0, [0.5]), "ways").strata[0].tau, Undefined)


def test_the_order_of_tasks_does_not_matter():
    matrix = draw_matrix(3, [0.5, 0.52, 0.51], ways=WAYS)
    mixed = matrix.select(np.random.default_rng(0).permutation(len(matrix.task)))
    for a, b in zip(order_by(matrix, "ways").strata, order_by(mixed, "ways").strata, strict=True):
        assert a.scores == pytest.approx(b.scores, abs=1e-12)
