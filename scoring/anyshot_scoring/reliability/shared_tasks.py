"""Seeded runs that were tested on the same tasks: a task is one task, however many runs answered it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from anyshot_scoring.joins import MEAN, Join
from anyshot_scoring.reliability.matrix import ClassMatrix, ScoreMatrix
from anyshot_scoring.rules import ByDatasetRanks, Rule


def mean_of_runs(matrix: ScoreMatrix) -> ScoreMatrix:
    """Each task once, with the mean of the runs."""
    return _joined(matrix, matrix.run_means()[:, None], MEAN)


def counted_once(matrix: ScoreMatrix, rule: Rule) -> ScoreMatrix:
    """Each task once, with the mean of the runs that a submission's figure is made of, so that the rule ranks alike."""
    by_dataset = isinstance(rule, ByDatasetRanks)
    return _joined(
        matrix, matrix.run_dataset_means() if by_dataset else matrix.run_means()[:, None], rule.join
    )


def mean_of_class_runs(classes: ClassMatrix) -> ClassMatrix:
    """Each class with the mean of the runs."""
    return replace(
        classes,
        sums=classes.sums.mean(axis=0, keepdims=True),
        shares=classes.shares.mean(axis=0, keepdims=True),
    )


def _joined(matrix: ScoreMatrix, means: NDArray[np.float64], join: Join) -> ScoreMatrix:
    """`means` `[runs, 1 or D, S]` decide which runs count for a submission, everywhere or on each dataset."""
    counts = np.apply_along_axis(lambda own: np.array(join.counting(own.tolist()), np.float64), 0, means)
    first = matrix.select(matrix.run == 0)
    place = first.dataset if means.shape[1] > 1 else np.zeros(len(first.task), np.int64)
    by_run = matrix.scores.reshape(matrix.runs, len(first.task), -1)
    weights = (counts / counts.sum(axis=0))[:, place]
    return replace(first, scores=(weights * by_run).sum(axis=0))
