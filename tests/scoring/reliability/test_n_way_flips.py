"""Flips by the tasks within sets of classes, against every set counted by hand."""

import itertools

import numpy as np
import pytest

from anyshot_scoring.errors import ScoringError
from anyshot_scoring.reliability.n_way_flips import TaskFlips, flips_over_tasks
from anyshot_scoring.undefined import Undefined


def all_pairs(effect: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Every 2-way task of the classes once; its difference is the mean of its classes' effects."""
    tasks = [np.array(pair) for pair in itertools.combinations(range(len(effect)), 2)]
    return np.array([effect[task].mean() for task in tasks]), tasks


def flips(*args: object, **settings: object) -> TaskFlips:
    found = flips_over_tasks(*args, **settings)  # pyright: ignore[reportArgumentType]
    assert isinstance(found, TaskFlips), found
    return found


def test_shares_are_those_of_all_sets() -> None:
    """Three of six classes favour the second by half as much as the others the first: 20 sets, counted one by one."""
    effect = np.array([1.0, 1.0, 1.0, -0.5, -0.5, -0.6])
    gaps, tasks = all_pairs(effect)
    means = [effect[list(own)].mean() for own in itertools.combinations(range(6), 3)]
    found = flips(gaps, tasks, ["one"] * len(tasks), 0.5, sets=20_000)
    assert found.lead == pytest.approx(effect.mean())
    assert set(np.round(found.differences, 9)) == set(np.round(means, 9))
    assert found.flip == pytest.approx(np.mean(np.array(means) < 0), abs=0.01)
    assert found.exaggeration == pytest.approx(np.mean(np.array(means) > effect.mean() + 0.005), abs=0.012)
    assert (found.tasks, found.of, found.empty) == (3, 15, 0)


def test_who_leads_is_turned_to_the_front() -> None:
    gaps, tasks = all_pairs(np.array([1.0, 1.0, 1.0, -0.5, -0.5, -0.6]))
    one, other = (flips(sign * gaps, tasks, ["one"] * len(tasks), 0.5) for sign in (1, -1))
    assert (one.lead, one.flip) == (other.lead, other.flip)
    assert one.first_leads and not other.first_leads


def test_who_leads_is_known_by_the_tasks_that_fit_into_a_set() -> None:
    """Over all 200 tasks the first trails by .046; the 60 that decide it have more ways than a set has classes."""
    rng = np.random.default_rng(0)
    tasks = [rng.permutation(20)[:ways] for ways in [3] * 140 + [18] * 60]
    found = flips([0.02] * 140 + [-0.2] * 60, tasks, ["one"] * 200, 0.75)
    assert found.first_leads and found.lead == pytest.approx(0.02) and found.of == 140
    assert found.differences == pytest.approx(np.full(len(found.differences), 0.02))


def test_without_differences_between_classes_all_flips_are_noise_of_tasks() -> None:
    rng = np.random.default_rng(0)
    tasks = [rng.permutation(12)[:3] for _ in range(300)]
    found = flips(0.1 + rng.normal(size=300), tasks, ["one"] * 300, 0.5, sets=4000)
    assert found.flip > 0.1
    assert found.flip == pytest.approx(found.noise_flip, abs=0.1)


def test_flips_by_classes_stay_with_many_tasks_and_those_by_noise_go() -> None:
    gaps, tasks = all_pairs(np.repeat([1.0, -0.8], 6))
    found = flips(np.tile(gaps, 40), tasks * 40, ["one"] * 40 * len(tasks), 0.5)
    assert found.flip > 0.2 and found.noise_flip < 0.02


def test_tasks_of_few_ways_weigh_no_more_than_on_all_classes() -> None:
    """Half of the tasks have two ways, half four; the former are within a set three times as often."""
    pairs = [np.array(own) for own in itertools.combinations(range(8), 2)]
    fours = [np.array(own) for own in itertools.combinations(range(8), 4)]
    pairs = pairs * 5  # 140 of two ways, 70 of four
    gaps = np.array([1.0] * len(pairs) + [0.4] * len(fours))
    found = flips(gaps, pairs + fours, ["one"] * len(gaps), 0.75)
    assert found.differences == pytest.approx(np.full(1000, (140 + 70 * 0.4) / 210))


def test_datasets_weigh_alike_and_classes_are_their_own() -> None:
    gaps, tasks = all_pairs(np.full(6, 1.0))
    more, others = all_pairs(np.full(9, -0.2))
    found = flips([*gaps, *more], tasks + others, ["one"] * len(gaps) + ["two"] * len(more), 0.5)
    assert found.lead == pytest.approx(0.4) and found.differences == pytest.approx(np.full(1000, 0.4))


def test_what_cannot_be_known_is_undefined() -> None:
    gaps, tasks = all_pairs(np.ones(6))
    assert isinstance(flips_over_tasks(0 * gaps, tasks, ["one"] * 15, 0.5), Undefined)
    few = flips_over_tasks(gaps[:2], tasks[:2], ["one"] * 2, 0.7)
    assert isinstance(few, Undefined) and "no task" in few.reason
    with pytest.raises(ScoringError, match="1,000 sets"):
        flips_over_tasks(gaps, tasks, ["one"] * 15, 0.5, sets=10)
    with pytest.raises(ScoringError, match="for each task"):
        flips_over_tasks(gaps, tasks[:3], ["one"] * 15, 0.5)
