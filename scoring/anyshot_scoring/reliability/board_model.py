"""What is known of the true levels of a board, under one population: from draws of the crossed model."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyshot_scoring.reliability.flips import TIE

FEWEST_UNITS = 6


@dataclass(frozen=True)
class BoardModel:
    """What is known of the true levels of S submissions, in the order of the board.

    Attributes:
        level, deviation: `[S]` posterior mean and standard deviation, on the board's own scale.
        first: `[S]` probability to be truly the best.
        better: `[S, S]` probability that i is truly better than j; the diagonal is 0.5.
        first_again: probability that the board's leader leads another phase of this size too.
        spread: standard deviation of the true levels of these submissions, with its 95 % interval.
        noise: that of a score over draws of the population, root mean over submissions, of a difference to the mean.
        reliability: share of the board's variance that is true, spread^2 / (spread^2 + noise^2).
        units: independent ones that all of it rests on.
    """

    level: NDArray[np.float64]
    deviation: NDArray[np.float64]
    first: NDArray[np.float64]
    better: NDArray[np.float64]
    first_again: float
    spread: float
    spread_interval: tuple[float, float]
    noise: float
    reliability: float
    units: int


def sum_up(
    levels: NDArray[np.float64], again: NDArray[np.float64], scores: NDArray[np.float64], units: int
) -> BoardModel:
    """The model of a board with these `scores` `[S]`, of draws `[n, S]` of true levels and of another phase's scores.

    What moves all submissions alike is taken out: the levels have the board's own mean.
    """
    count, leader = levels.shape[1], int(np.argmax(scores))
    better = np.array([(levels[:, [i]] > levels).mean(axis=0) for i in range(count)])
    better += np.array([(levels[:, [i]] == levels).mean(axis=0) for i in range(count)]) / 2
    noise2 = float((_centered(again - levels) ** 2).sum(axis=1).mean() / (count - 1))
    own = _centered(levels)
    spread2 = (own**2).sum(axis=1) / (count - 1)
    low, middle, high = np.sqrt(np.quantile(spread2, [0.025, 0.5, 0.975]))
    return BoardModel(
        level=own.mean(axis=0) + scores.mean(),
        deviation=own.std(axis=0),
        first=_leads(levels).mean(axis=0),
        better=better,
        first_again=float(_leads(again)[:, leader].mean()),
        spread=float(middle),
        spread_interval=(float(low), float(high)),
        noise=float(np.sqrt(noise2)),
        reliability=float((spread2 / (spread2 + noise2)).mean()) if noise2 > 0 else 1.0,
        units=units,
    )


def _leads(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each draw 1 for the best; those that share the lead share the 1."""
    best = draws > draws.max(axis=1, keepdims=True) - TIE
    return best / best.sum(axis=1, keepdims=True)


def _centered(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    return draws - draws.mean(axis=1, keepdims=True)
