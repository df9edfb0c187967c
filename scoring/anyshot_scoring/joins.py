"""How the seeded runs of an entry become one figure: the worst, the mean or the median of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Join:
    """Makes one figure of several runs; `noun` names it in a sentence: the lowest, the mean or the median run."""

    name: str
    noun: str
    over: Callable[..., Any]
    over_known: Callable[..., Any]
    parts: Callable[[int], range]  # which runs, in ascending order, a figure of so many is made of

    def __call__(self, values: NDArray[np.float64], axis: int = -2) -> NDArray[np.float64]:
        """Join the runs along an axis; NaN (a failed run) spreads."""
        return np.asarray(self.over(values, axis=axis), dtype=np.float64)

    def known(self, values: NDArray[np.float64], axis: int = -2) -> NDArray[np.float64]:
        """Join those of the runs along an axis that are not NaN."""
        over = self.over_known if np.isnan(values).any() else self.over
        return np.asarray(over(values, axis=axis), dtype=np.float64)

    def figure(self, values: Sequence[float]) -> float:
        """The figure of one entry's runs."""
        return float(self(np.asarray(values, dtype=np.float64), axis=0))

    def counting(self, values: Sequence[float]) -> tuple[bool, ...]:
        """Of each run, whether the figure is made of it; of equal runs the first, NaN never."""
        known = [place for place, value in enumerate(values) if not math.isnan(value)]
        ascending = sorted(known, key=lambda place: values[place])
        made_of = {ascending[place] for place in self.parts(len(known))}
        return tuple(place in made_of for place in range(len(values)))


WORST = Join("worst", "lowest", np.min, np.nanmin, lambda runs: range(min(runs, 1)))
MEAN = Join("mean", "mean", np.mean, np.nanmean, range)
MEDIAN = Join(
    "median",
    "median",
    np.median,
    np.nanmedian,
    lambda runs: range(max(runs - 1, 0) // 2, runs // 2 + 1)[:runs],
)
JOINS: dict[str, Join] = {join.name: join for join in (WORST, MEAN, MEDIAN)}
