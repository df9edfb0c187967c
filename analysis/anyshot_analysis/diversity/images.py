"""How far apart groups of images are in a learner's features: the cosine form of the energy distance.

Szekely and Rizzo (2013), *Energy statistics*: the distance of images of two groups, less that of images of one and the
same group. It is unbiased, so two halves of one group are 0 apart on average, however few images there are.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from anyshot_scoring.undefined import Undefined

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GroupDistances:
    """Groups in ascending order, those of a single image left out.

    `between` `[G, G]` is the distance of each two less that within them, 0 on the diagonal;
    `within` `[G]` is the mean cosine distance of two images of a group.
    """

    groups: tuple[int, ...]
    within: Array
    between: Array

    @property
    def mean(self) -> float:
        """Over all pairs of groups."""
        return float(self.between[np.triu_indices(len(self.groups), 1)].mean())


def group_distances(features: ArrayLike, groups: ArrayLike) -> GroupDistances | Undefined:
    """Distances of groups of images by their features `[n, F]`. Undefined under two groups of two images."""
    return _distances(cosine_distances(features), np.asarray(groups))


def cosine_distances(features: ArrayLike) -> Array:
    """1 - cosine of all pairs of rows, `[n, n]`; a row of zeros is at 1 from all."""
    values = np.asarray(features, np.float64)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    unit = np.divide(values, lengths, out=np.zeros_like(values), where=lengths > 0)
    return 1.0 - unit @ unit.T


def _distances(apart: Array, groups: NDArray[np.integer]) -> GroupDistances | Undefined:
    names, counts = np.unique(groups, return_counts=True)
    names = names[counts > 1]
    if len(names) < 2:
        return Undefined("fewer than two groups of two images")
    of = (groups[:, None] == names).astype(np.float64)
    n = of.sum(axis=0)
    sums = of.T @ apart @ of
    own = np.diagonal(of.T @ (apart * ~np.eye(len(apart), dtype=bool)) @ of)
    within = own / (n * (n - 1))
    between = sums / np.outer(n, n) - (within[:, None] + within) / 2
    np.fill_diagonal(between, 0.0)
    return GroupDistances(tuple(names.tolist()), within, between)


def half_width(found: GroupDistances) -> float | Undefined:
    """Of the mean's 95 % interval over other groups, by the jackknife over groups."""
    count = len(found.groups)
    if count < 3:
        return Undefined("fewer than three groups have no spread")
    total = found.between.sum() / 2
    without = (total - found.between.sum(axis=1)) / ((count - 1) * (count - 2) / 2)
    deviation = np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum())
    return float(stats.t.ppf(0.975, count - 1) * deviation)


def chance_range(features: ArrayLike, groups: ArrayLike, permutations: int, seed: int) -> tuple[float, float]:
    """95 % of the means with the images dealt to the groups at random."""
    apart, own, rng = cosine_distances(features), np.asarray(groups), np.random.default_rng(seed)
    dealt = [_distances(apart, rng.permutation(own)) for _ in range(permutations)]
    means = [one.mean for one in dealt if isinstance(one, GroupDistances)]
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def nearest(found: GroupDistances) -> tuple[int, int]:
    """The two groups that are least apart."""
    pairs = list(combinations(range(len(found.groups)), 2))
    first, second = min(pairs, key=lambda pair: found.between[pair])
    return found.groups[first], found.groups[second]
