"""Conclusion flips and exaggerated improvements, if classes or datasets were drawn again.

Setlur, Li and Smith, *Two Sides of Meta-Learning Evaluation: In vs. Out of Distribution*: A1(C_L) - A2(C_L) = eps > 0
on all L units. Of random subsets C_N of m units, a *flip* has A1(C_N) < A2(C_N), an *exaggeration* has
A1(C_N) - A2(C_N) > eps + delta. Both are strict, and both methods meet the same tasks. Accuracies are whole numbers of
queries, so exact ties are common: differences closer to 0 than `TIE` are ties, whatever rounding made of them.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from anyshot_scoring.errors import ScoringError
from anyshot_scoring.undefined import Undefined

DELTA = 0.005  # half a point
TIE = 1e-9  # far above the rounding of a mean, far below one query in a million
MOST_ENUMERATED = 50_000  # so few subsets are all looked at, once each
FEWEST_SUBSETS = 1_000  # the papers' 100 subsets carry 5 to 10 points of noise


@dataclass(frozen=True)
class Flips:
    """Shares of flips, ties and exaggerations over subsets of `size` of `units`, given the lead `lead` on all.

    `predicted_flip` is the planning formula for means over units, Phi(-eps / sd) with
    sd = sd(differences) sqrt((1 - m / L) / m).

    `exact` where all `subsets` that exist were counted, once each; else they are random ones.
    """

    lead: float
    units: int
    size: int
    flip: float
    exaggeration: float
    predicted_flip: float | Undefined
    subsets: int
    tie: float = 0.0
    exact: bool = False


def subset_flips(
    differences: ArrayLike,
    size: int,
    *,
    strata: ArrayLike | None = None,
    delta: float = DELTA,
    subsets: int = 10_000,
    seed: int = 0,
) -> Flips | Undefined:
    """Flips of a lead where a score is the mean over its units (classes or datasets) of per-unit scores.

    `differences` `[L]` are first minus second on each unit; the sign is turned so that the lead is positive. With
    `strata` `[L]` (the dataset of each class), `size` units are drawn of each stratum, and all strata weigh alike.
    Where there are at most 50,000 subsets, all are counted. Undefined without a lead. Raises `ScoringError` for fewer
    than 1,000 subsets or an impossible size.
    """
    values = np.asarray(differences, dtype=np.float64)
    groups = _groups(values, np.zeros(len(values)) if strata is None else np.asarray(strata))
    _check(groups, size, subsets)
    lead = float(np.mean([group.mean() for group in groups]))
    if abs(lead) <= TIE:
        return Undefined("there is no lead that could flip")
    turned = [np.sign(lead) * group for group in groups]
    exact = math.prod(math.comb(len(group), size) for group in groups) <= MOST_ENUMERATED
    drawn = _all_means(turned, size) if exact else _random_means(turned, size, subsets, seed)
    flip, exaggeration = count_flips(drawn, abs(lead), delta)
    variance = sum(_subset_variance(group, size) for group in groups) / len(groups) ** 2
    predicted = float(special.ndtr(-abs(lead) / np.sqrt(variance))) if variance > 0 else 0.0
    return Flips(
        abs(lead), len(values), size, flip, exaggeration, predicted, len(drawn), count_ties(drawn), exact
    )


def count_flips(differences: ArrayLike, lead: float, delta: float = DELTA) -> tuple[float, float]:
    """Shares of flips and of exaggerations among differences A1 - A2 on subsets, given the lead on all."""
    values = np.asarray(differences, dtype=np.float64)
    return float((values < -TIE).mean()), float((values > lead + delta + TIE).mean())


def count_ties(differences: ArrayLike) -> float:
    """Share of exact ties among differences on subsets."""
    return float((np.abs(np.asarray(differences, dtype=np.float64)) <= TIE).mean())


def _groups(values: NDArray[Any], strata: NDArray[Any]) -> list[NDArray[Any]]:
    if values.ndim != 1 or len(values) == 0 or not np.isfinite(values).all() or len(strata) != len(values):
        raise ScoringError("Flips need a flat array of finite differences, and a stratum for each.")
    return [values[strata == stratum] for stratum in np.unique(strata)]


def _check(groups: list[NDArray[Any]], size: int, subsets: int) -> None:
    if subsets < FEWEST_SUBSETS:
        raise ScoringError(f"{subsets} subsets are too few: at least {FEWEST_SUBSETS} are needed.")
    smallest = min(len(group) for group in groups)
    if not 1 <= size <= smallest:
        raise ScoringError(f"Subsets of {size} cannot be drawn of {smallest}.")


def _all_means(groups: list[NDArray[Any]], size: int) -> NDArray[np.float64]:
    """Means over the groups' means of all their subsets of `size`, each combination once."""
    total = np.zeros(1)
    for group in groups:
        chosen = np.array(list(itertools.combinations(range(len(group)), size)))
        total = (total[:, None] + group[chosen].mean(axis=1)).ravel()
    return total / len(groups)


def _random_means(groups: list[NDArray[Any]], size: int, subsets: int, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return np.asarray(sum(_subset_means(group, size, subsets, rng) for group in groups)) / len(groups)


def _subset_means(
    values: NDArray[Any], size: int, subsets: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Means of `subsets` random subsets without replacement, in blocks of bounded size."""
    means = np.empty(subsets)
    step = max(1, 2_000_000 // len(values))
    for start in range(0, subsets, step):
        keys = rng.random((min(step, subsets - start), len(values)))
        chosen = (
            np.argpartition(keys, size - 1, axis=1)[:, :size]
            if size < len(values)
            else np.arange(len(values))
        )
        means[start : start + len(keys)] = values[chosen].mean(axis=-1)
    return means


def _subset_variance(values: NDArray[Any], size: int) -> float:
    if len(values) < 2:
        return 0.0
    return float(values.var(ddof=1) * (1 - size / len(values)) / size)
