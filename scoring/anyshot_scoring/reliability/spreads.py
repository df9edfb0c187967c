"""Where the scores of a board vary between submissions: the components of the crossed model, each with its interval."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyshot_scoring.reliability.crossed_model import CrossedFit, MeanSquares, deviations_of
from anyshot_scoring.reliability.paired import Interval
from anyshot_scoring.undefined import Undefined

DRAWS = 4_000
LEVEL = 0.95
MOST = 1.0  # no score is above 1 or below -1, so none deviates by more


class SpreadSource(StrEnum):
    """What makes one submission score higher than another."""

    SUBMISSION = "submission"
    DATASET = "dataset"
    CLASSES = "classes"
    TASK = "task"
    SEED = "seed"
    DATASET_AND_SEED = "dataset_and_seed"


WORDS: dict[SpreadSource, str] = {
    SpreadSource.SUBMISSION: "the submission itself",
    SpreadSource.DATASET: "a dataset",
    SpreadSource.CLASSES: "the draw of a dataset's classes",
    SpreadSource.TASK: "a single task",
    SpreadSource.SEED: "a seeded run",
    SpreadSource.DATASET_AND_SEED: "a dataset in one seeded run",
}
_EFFECTS = {
    SpreadSource.DATASET: "b",
    SpreadSource.CLASSES: "k",
    SpreadSource.SEED: "u",
    SpreadSource.DATASET_AND_SEED: "v",
}


@dataclass(frozen=True)
class SpreadFound:
    """Standard deviation of what one draw of `source` does to a submission's score, beside what it does to all.

    The interval is that of Weerahandi (1993): mean squares are scaled chi-squares, and what follows from redrawn ones
    is what the deviation may be. An end at 0: the source may do nothing at all.
    """

    source: SpreadSource
    words: str
    deviation: float | Undefined
    interval: Interval | Undefined


def find_spreads(fit: CrossedFit) -> tuple[SpreadFound, ...] | Undefined:
    """All components of a board; undefined for a single submission."""
    squares = fit.squares
    if fit.submissions < 2:
        return Undefined("a single submission differs from nothing")
    rng = np.random.default_rng(0)
    drawn = np.ones((DRAWS + 1, 6))  # the first are the estimates
    for place, square in enumerate(squares.all):
        if square.known:
            drawn[1:, place] = square.freedom / rng.chisquare(square.freedom, DRAWS)
    found = deviations_of(squares, drawn)
    values = {source: found[name] for source, name in _EFFECTS.items()}
    tasks = 1 / np.mean(1 / fit.sizes[fit.sizes > 0])  # of a cell: effects are those on its mean
    values[SpreadSource.TASK] = np.sqrt(tasks * (found["t"] ** 2 + found["e"] ** 2))
    values[SpreadSource.SUBMISSION] = _own(fit, found, rng)
    return tuple(_spread(source, values[source], squares) for source in SpreadSource)


def _own(fit: CrossedFit, found: dict[str, NDArray[Any]], rng: np.random.Generator) -> NDArray[np.float64]:
    """What the mean square of the submissions has beyond what datasets, runs and tasks add to it."""
    squares, p = fit.squares, fit.submissions - 1
    grand = fit.cells.mean(axis=(0, 1))
    factors = np.append(1.0, p / rng.chisquare(p, DRAWS))
    square = {name: value**2 for name, value in found.items()}
    noise = square["u"] / squares.runs + (square["b"] + square["k"] + square["t"]) / squares.datasets
    noise = noise + (square["v"] + square["e"]) / (squares.runs * squares.datasets)
    return np.sqrt(np.maximum(0.0, float((grand**2).mean()) * factors - noise))


def _spread(source: SpreadSource, values: NDArray[np.float64], squares: MeanSquares) -> SpreadFound:
    reason, units = _why_unknown(source, squares), _units(source, squares)
    if reason:
        return SpreadFound(source, WORDS[source], Undefined(reason), Undefined(reason))
    low, high = np.minimum(np.quantile(values[1:], [0.5 - LEVEL / 2, 0.5 + LEVEL / 2]), MOST)
    return SpreadFound(
        source, WORDS[source], float(values[0]), Interval(float(low), float(high), LEVEL, units)
    )


def _units(source: SpreadSource, squares: MeanSquares) -> int:
    """Degrees of freedom that an interval rests on, those of all differences together."""
    square = {
        SpreadSource.DATASET: squares.by_dataset,
        SpreadSource.CLASSES: squares.by_class,
        SpreadSource.TASK: squares.own_tasks,
        SpreadSource.SEED: squares.by_run,
        SpreadSource.DATASET_AND_SEED: squares.both,
    }.get(source)
    return len(squares.own_tasks.value) if square is None else round(square.freedom)


def _why_unknown(source: SpreadSource, squares: MeanSquares) -> str:
    reasons = {
        SpreadSource.DATASET: (squares.by_dataset, "a single dataset says nothing about others"),
        SpreadSource.CLASSES: (squares.by_class, "the files do not say which classes the tasks have"),
        SpreadSource.TASK: (squares.own_tasks, "no dataset has two tasks in one run"),
        SpreadSource.SEED: (squares.by_run, "a single run says nothing about other seeds"),
        SpreadSource.DATASET_AND_SEED: (squares.both, "it takes two datasets and two runs"),
    }
    if source not in reasons:
        return ""
    square, reason = reasons[source]
    return "" if square.known else reason
