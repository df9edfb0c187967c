"""Negative log-likelihood and calibration error against definitions, hand values, and simulated predictors."""

import math

import numpy as np
import pytest
from sklearn.metrics import log_loss

from anyshot_scoring.calibration import (
    LEAST,
    CalibrationError,
    calibration_error,
    negative_log_likelihoods,
    place_in_bins,
)
from anyshot_scoring.errors import ScoringError


def simulate(seed: int, tasks: int, power: float = 1.0, noise: float = 0.0) -> CalibrationError:
    """Answers that are right with probability `s`, stated as a two-class confidence sharpened by `power`.

    Tasks differ by `noise`: some are harder than stated and others easier, by nothing on average.
    """
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(tasks), 25)
    true = rng.uniform(0.5, 0.9, len(task))
    stated = true**power / (true**power + (1 - true) ** power)
    shift = rng.choice([-noise, noise], tasks)[task]
    return calibration_error(stated, rng.random(len(task)) < true + shift, task, seed=seed)


def test_likelihoods_are_those_of_a_reference_and_of_hand_values() -> None:
    rng = np.random.default_rng(0)
    rows, labels = rng.dirichlet(np.ones(5), 200), rng.integers(0, 5, 200)
    ours = negative_log_likelihoods(rows, labels)
    assert ours.mean() == pytest.approx(log_loss(labels, rows, labels=range(5)), rel=1e-12)
    by_hand = negative_log_likelihoods([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]], [0, 0, 0])
    assert by_hand == pytest.approx([math.log(2), math.log(4), 0.0], rel=1e-15)


def test_a_true_class_of_probability_zero_costs_what_the_smallest_float_does() -> None:
    assert LEAST == 2.0**-126
    assert negative_log_likelihoods([[1.0, 0.0]], [1])[0] == pytest.approx(126 * math.log(2), rel=1e-15)


def test_the_error_is_that_of_its_definition() -> None:
    """Guo et al.: bins ((b - 1) / B, b / B], the mean of |accuracy - confidence| weighted by their answers."""
    rng = np.random.default_rng(1)
    stated, hits, task = rng.uniform(0.2, 1, 300), rng.random(300) < 0.6, np.arange(300) // 10
    for bins in (4, 15):
        expected = 0.0
        for b in range(1, bins + 1):
            inside = [i for i in range(300) if (b - 1) / bins < stated[i] <= b / bins]
            if inside:
                accuracy = sum(hits[i] for i in inside) / len(inside)
                confidence = sum(stated[i] for i in inside) / len(inside)
                expected += len(inside) / 300 * abs(accuracy - confidence)
        assert calibration_error(stated, hits, task, bins).value == pytest.approx(expected, rel=1e-12)


def test_hand_values_and_borders_of_bins() -> None:
    """Two answers at 0.9, one right; two at 0.6, both right: (2 |0.5 - 0.9| + 2 |1 - 0.6|) / 4 = 0.4."""
    found = calibration_error([0.9, 0.9, 0.6, 0.6], [1, 0, 1, 1], [0, 1, 0, 1], bins=10)
    assert found.value == pytest.approx(0.4, rel=1e-12)
    assert found.bins.answers.tolist() == [0] * 5 + [2, 0, 0, 2, 0]
    assert found.bins.accuracy[[5, 8]].tolist() == [1.0, 0.5]
    assert place_in_bins([0.0, 0.1, 0.1001, 0.5, 1.0], 10).tolist() == [0, 0, 1, 4, 9]


@pytest.mark.seconds("many draws")
@pytest.mark.parametrize("noise", [0.0, 0.1], ids=["independent answers", "tasks that differ"])
def test_exact_probabilities_exceed_chance_in_about_five_per_cent(noise: float) -> None:
    """Where answers within a task depend on each other, too: errors are as far above 0 as `chance` says."""
    found = [simulate(seed, 60, noise=noise) for seed in range(300)]
    exceeded = np.mean([one.value > one.chance_most for one in found])
    assert 0.01 <= exceeded <= 0.1, exceeded
    means = np.mean([one.value for one in found]), np.mean([one.chance for one in found])
    assert means[0] == pytest.approx(means[1], rel=0.06) and means[0] > 0.01
    assert np.mean([one.interval[0] == 0 for one in found]) > 0.9, "the true error is 0"


def test_overconfident_probabilities_are_told_from_exact_ones() -> None:
    """The true error, by 100,000 answers, lies in the interval of 60 tasks; chance is as for exact probabilities."""
    truth = simulate(0, 4_000, power=3.0).value
    found = [simulate(seed, 60, power=3.0) for seed in range(100)]
    assert all(one.value > 3 * one.chance_most for one in found) and truth > 0.1
    assert np.mean([one.interval[0] <= truth <= one.interval[1] for one in found]) >= 0.95
    exact = simulate(0, 60)
    assert found[0].chance == pytest.approx(exact.chance, rel=0.3)


def test_one_task_has_no_spread() -> None:
    with pytest.raises(ScoringError, match="two tasks or more"):
        calibration_error([0.5, 0.6], [1, 0], [3, 3])
