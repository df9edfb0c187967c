"""Does the order of the board hold for every number of ways and of shots, or do the curves cross?"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from anyshot_scoring.intervals import t_interval
from anyshot_scoring.reliability.agreement import tau_b
from anyshot_scoring.reliability.matrix import ScoreMatrix
from anyshot_scoring.undefined import Undefined

Axis = Literal["ways", "shots"]


@dataclass(frozen=True)
class Stratum:
    """The tasks with one number of ways, or of shots.

    `scores` `[S]` are the means over these tasks of all runs, `half_widths` those of their 95 % intervals over tasks
    (None for a single task); `tau` is Kendall's tau-b with the means over all tasks.
    """

    value: int
    tasks: int
    scores: NDArray[np.float64]
    half_widths: tuple[float | None, ...]
    leader: str
    tau: float | Undefined


@dataclass(frozen=True)
class Crossing:
    """Two neighbours of the board whose order turns round at some values.

    `turned` are the values at which the lower one has the higher mean; `certain` those of them at which the paired
    interval over tasks, at 5 % for all values together (Bonferroni), leaves out 0.
    """

    first: str
    second: str
    turned: tuple[int, ...]
    certain: tuple[int, ...]


@dataclass(frozen=True)
class Strata:
    """The board at each value of `axis`, and the neighbours whose curves cross.

    The 2022 competition found that the curves of its baselines do not cross (Carrion-Ojeda et al. 2022).
    """

    axis: Axis
    strata: tuple[Stratum, ...]
    crossings: tuple[Crossing, ...]


def order_by(board: ScoreMatrix, axis: Axis) -> Strata:
    """Order at each number of ways or shots; columns must be best first, since neighbours are compared."""
    levels: NDArray[np.int64] = getattr(board, axis)
    values = np.unique(levels)
    overall = board.scores.mean(axis=0)
    rows = [board.scores[levels == value] for value in values]
    strata = [_stratum(board.keys, value, own, overall) for value, own in zip(values, rows, strict=True)]
    confidence = 1 - 0.05 / len(values)
    crossings = [_crossing(board.keys, i, values, rows, confidence) for i in range(len(board.keys) - 1)]
    return Strata(axis, tuple(strata), tuple(c for c in crossings if c.turned))


def _stratum(keys: tuple[str, ...], value: int, rows: NDArray[Any], overall: NDArray[Any]) -> Stratum:
    intervals = [t_interval(column) for column in rows.T]
    scores = np.array([mean for mean, _ in intervals])
    return Stratum(
        value=int(value),
        tasks=len(rows),
        scores=scores,
        half_widths=tuple(half for _, half in intervals),
        leader=keys[int(np.argmax(scores))],
        tau=tau_b(scores, overall),
    )


def _crossing(
    keys: tuple[str, ...], i: int, values: NDArray[np.int64], rows: list[NDArray[Any]], confidence: float
) -> Crossing:
    turned: list[int] = []
    certain: list[int] = []
    for value, own in zip(values.tolist(), rows, strict=True):
        mean, half = t_interval(own[:, i + 1] - own[:, i], confidence)
        if mean > 0:
            turned.append(value)
            if half is not None and mean - half > 0:
                certain.append(value)
    return Crossing(keys[i], keys[i + 1], tuple(turned), tuple(certain))
