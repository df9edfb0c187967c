"""Agreement of rankings: Kendall's tau-b between feedback and final phase, and between seeds."""

from collections.abc import Mapping
from typing import cast

import numpy as np
import scipy
from numpy.typing import ArrayLike

from anyshot_scoring.errors import ScoringError
from anyshot_scoring.reliability.matrix import ScoreMatrix
from anyshot_scoring.undefined import Undefined


def tau_b(first: ArrayLike, second: ArrayLike) -> float | Undefined:
    """Kendall's tau-b of two lists of scores `[n]`; undefined for under two values or a constant side.

    No p-value: neighbouring submissions depend on each other.
    """
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ScoringError("Tau-b needs two flat, equally long lists of finite scores.")
    if len(x) < 2:
        return Undefined("fewer than two submissions have no order")
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return Undefined("all scores of one side are equal")
    return cast(float, scipy.stats.kendalltau(x, y, variant="b")[0])


def tau_between(first: Mapping[str, float], second: Mapping[str, float]) -> float | Undefined:
    """Tau-b over the submissions that both have, such as the scores of two phases."""
    common = sorted(first.keys() & second.keys())
    return tau_b([first[key] for key in common], [second[key] for key in common])


def tau_between_runs(matrix: ScoreMatrix) -> float | Undefined:
    """Mean of tau-b over all pairs of seeded runs."""
    means = matrix.run_means()
    pairs = [tau_b(means[i], means[j]) for i in range(len(means)) for j in range(i)]
    if not pairs:
        return Undefined("a single run cannot be compared with another")
    undefined = [tau for tau in pairs if isinstance(tau, Undefined)]
    return (
        undefined[0]
        if undefined
        else float(np.mean([tau for tau in pairs if not isinstance(tau, Undefined)]))
    )
