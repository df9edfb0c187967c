"""What independent representations would score: the level beside which every similarity is to be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from anyshot_analysis.representations.cca import CanonicalCorrelations
from anyshot_analysis.representations.rows import Matrix, Pair, centred
from anyshot_analysis.undefined import Quantity, Undefined, defined_only


def chance_cca(correlations: CanonicalCorrelations, examples: int) -> Quantity:
    """Expected mean squared correlation of independent data: E[sum rho^2] = r_x r_y / (N - 1), over min(r)."""
    if correlations.rank_x + correlations.rank_y > examples - 1:
        return Undefined("the two ranks exceed the examples: some correlations are 1 for any data")
    expected = correlations.rank_x * correlations.rank_y / (examples - 1)
    return expected / min(correlations.rank_x, correlations.rank_y)


def chance_cka(sides: Pair) -> Quantity:
    """Mean of biased linear CKA over all pairings of the examples: tr K tr L / ((N - 1) |K|_F |L|_F)."""
    scale = np.linalg.norm(sides.x.T @ sides.x) * np.linalg.norm(sides.y.T @ sides.y)
    if scale == 0:
        return Undefined("a representation is the same for every example")
    traces = np.linalg.norm(sides.x) ** 2 * np.linalg.norm(sides.y) ** 2
    return float(traces / ((sides.examples - 1) * scale))


@dataclass(frozen=True)
class PermutationLevel:
    """Mean and 2.5 to 97.5 % range of a quantity over random pairings of the examples."""

    mean: float
    low: float
    high: float
    permutations: int


def permutation_level(
    quantity: Callable[[Matrix, Matrix], Quantity],
    x: ArrayLike,
    y: ArrayLike,
    permutations: int = 100,
    seed: int = 0,
) -> PermutationLevel | Undefined:
    """The chance level of any quantity of two `[N, D]` matrices: `y`'s rows shuffled `permutations` times."""
    left, right = centred(x), centred(y)
    rng = np.random.default_rng(seed)
    values = [quantity(left, right[rng.permutation(len(right))]) for _ in range(permutations)]
    numbers, reasons = defined_only(values)
    if reasons:
        return Undefined(reasons[0])
    low, high = np.quantile(numbers, [0.025, 0.975])
    return PermutationLevel(float(np.mean(numbers)), float(low), float(high), permutations)
