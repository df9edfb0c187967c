"""Seeded runs that were tested on the same tasks: a task is one task, however many runs answered it."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from anyshot_scoring.joins import MEAN, Join
from anyshot_scoring.reliability.matrix import ClassMatrix, ScoreMatrix
from anyshot_scoring.rules import ByDatasetRanks, Rule


def mean_of_runs(matrix: ScoreMatrix) -> ScoreMatrix:
    """Each task once, with the mean of the runs."""
    return _joined(matrix, _weights(matrix.run_means()[:, None], MEAN))


def where_all_count(matrix: ScoreMatrix, rule: Rule) -> ScoreMatrix | None:
    """The tasks of the runs that count, where these are the same for all submissions and weigh alike; else None."""
    weights = _weights_of(matrix, rule)
    counting = weights > 0
    if weights.shape[1] > 1 or not (weights == weights[:, :, :1]).all():
        return None
    runs = np.flatnonzero(counting[:, 0, 0])
    chosen = matrix.select(np.isin(matrix.run, runs))
    return replace(chosen, run=np.searchsorted(runs, chosen.run))


def counted_once(matrix: ScoreMatrix, rule: Rule) -> ScoreMatrix:
    """Each task once, with the mean of the runs that a submission's figure is made of, so that the rule ranks alike."""
    return _joined(matrix, _weights_of(matrix, rule))


def classes_counted_once(classes: ClassMatrix, matrix: ScoreMatrix, rule: Rule) -> ClassMatrix:
    """Each class with the mean of the runs that `counted_once` takes for the tasks of its dataset."""
    weights = _weights_of(matrix, rule)
    place = classes.dataset if weights.shape[1] > 1 else np.zeros(len(classes.dataset), np.int64)
    sums = (weights[:, place] * classes.sums).sum(axis=0)
    return replace(classes, sums=sums[None], shares=classes.shares[:1])


def _weights_of(matrix: ScoreMatrix, rule: Rule) -> NDArray[np.float64]:
    by_dataset = isinstance(rule, ByDatasetRanks)
    means = matrix.run_dataset_means() if by_dataset else matrix.run_means()[:, None]
    return _weights(means, rule.join)


def _weights(means: NDArray[np.float64], join: Join) -> NDArray[np.float64]:
    """What each run counts for a submission's figure, `[runs, 1 or D, S]`, by its means everywhere or on a dataset."""
    counts = np.apply_along_axis(lambda own: np.array(join.counting(own.tolist()), np.float64), 0, means)
    return counts / counts.sum(axis=0)


def _joined(matrix: ScoreMatrix, weights: NDArray[np.float64]) -> ScoreMatrix:
    first = matrix.select(matrix.run == 0)
    place = first.dataset if weights.shape[1] > 1 else np.zeros(len(first.task), np.int64)
    by_run = matrix.scores.reshape(matrix.runs, len(first.task), -1)
    return replace(first, scores=(weights[:, place] * by_run).sum(axis=0))
