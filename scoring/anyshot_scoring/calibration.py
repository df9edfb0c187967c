"""Whether stated probabilities hold: negative log-likelihood, and expected calibration error (Guo et al. 2017)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anyshot_scoring.errors import ScoringError

LEAST = float(np.finfo(np.float32).tiny)  # the smallest probability that counts as such: 1.2e-38, 87.3 nats
BINS = 15  # of equal width, as in Guo et al.
_DRAWS = 2_000


@dataclass(frozen=True)
class CalibrationBins:
    """Answers by their confidence, in bins of equal width `((b - 1) / B, b / B]`; all arrays `[B]`.

    `confidence` and `accuracy` are means over the `answers` of a bin, NaN where it has none; `errors` are half widths
    of 95 % intervals of accuracy minus confidence over other tasks.
    """

    answers: NDArray[np.int64]
    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    errors: NDArray[np.float64]


@dataclass(frozen=True)
class CalibrationError:
    """Expected calibration error over all answers, and what there would be of it without any miscalibration.

    Attributes:
        value: sum over bins of |hits - stated| in shares of all answers; never negative, so biased upwards: the more,
            the fewer tasks.
        chance: its mean for a predictor of exact probabilities on as many tasks.
        chance_most: what stays above it in 95 % of such draws.
        interval: holds the error on ever more such tasks in 95 % or more: what is drawn differs from it by no more than
            the drawn noise of all bins together (triangle inequality), so it is wide.
    """

    value: float
    chance: float
    chance_most: float
    interval: tuple[float, float]
    bins: CalibrationBins


def negative_log_likelihoods(probabilities: ArrayLike, labels: ArrayLike) -> NDArray[np.float64]:
    """-ln of the probability of the true class of each row, `[q]` in nats; below `LEAST` it counts as that.

    `probabilities` `[q, ways]`, `labels` `[q]` in [0, ways).
    """
    rows = np.asarray(probabilities, np.float64)
    own = rows[np.arange(len(rows)), np.asarray(labels, np.int64)]
    return -np.log(np.maximum(own, LEAST))


def place_in_bins(confidence: ArrayLike, bins: int = BINS) -> NDArray[np.int64]:
    """The bin of each confidence in [0, 1], from 0; a border belongs to the bin below it."""
    places = np.ceil(np.asarray(confidence, np.float64) * bins).astype(np.int64) - 1
    return np.clip(places, 0, bins - 1)


def calibration_error(
    confidence: ArrayLike, hits: ArrayLike, task: ArrayLike, bins: int = BINS, seed: int = 0
) -> CalibrationError:
    """Pooled over the answers of all tasks, each answer counting once.

    `confidence` `[n]` is what the likeliest class has, `hits` `[n]` whether it is right, `task` `[n]` whose answer it
    is. The noise is that of tasks, which are independent, and not of answers: signs drawn for what each task's
    deviations differ from the mean by (a wild bootstrap). Raises `ScoringError` for fewer than two tasks.
    """
    stated, right = np.asarray(confidence, np.float64), np.asarray(hits, np.float64)
    known, own = np.unique(np.asarray(task), return_inverse=True)
    if len(known) < 2:
        raise ScoringError("The error of calibration needs two tasks or more: one has no spread.")
    count, size = len(known), len(stated)
    place = place_in_bins(stated, bins)
    gaps = np.zeros((count, bins))
    np.add.at(gaps, (own, place), right - stated)
    deviations = gaps - np.outer(np.bincount(own, minlength=count), gaps.sum(axis=0) / size)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (_DRAWS, count))
    noise = np.abs(signs @ deviations) * np.sqrt(count / (count - 1)) / size
    value, together = float(np.abs(gaps.sum(axis=0)).sum() / size), noise.sum(axis=1)
    most = float(np.quantile(together, 0.95))
    return CalibrationError(
        value,
        float(together.mean()),
        most,
        (max(0.0, value - most), min(1.0, value + most)),
        _describe(stated, right, place, bins, np.quantile(noise, 0.95, axis=0)),
    )


def _describe(
    stated: NDArray[np.float64],
    right: NDArray[np.float64],
    place: NDArray[np.int64],
    bins: int,
    noise: NDArray[np.float64],
) -> CalibrationBins:
    answers = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        return CalibrationBins(
            answers,
            np.bincount(place, stated, bins) / answers,
            np.bincount(place, right, bins) / answers,
            noise * len(stated) / answers,
        )
