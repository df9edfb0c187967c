"""Multi-class support vector machine (Crammer and Singer 2001), the head of MetaOptNet (Lee et al. 2019)."""

from dataclasses import dataclass

import numpy as np

from anyshot_analysis.heads.baseline import NotConverged
from anyshot_analysis.heads.linear import LinearRule
from anyshot_analysis.heads.problem import Array, FittingProblem


@dataclass(frozen=True)
class MetaOptNetSVM:
    """Dual.

    Min 1/2 tr(a'Ka) - sum_i a_i,y(i) with rows of a summing to 0 and a <= strength * w_i on the true class,
    0 elsewhere.
    """

    strength: float = 0.1
    tolerance: float = 1e-5
    steps: int = 20_000
    name: str = "metaoptnet-svm"

    def fit(self, problem: FittingProblem, weights: Array) -> LinearRule:
        """Accelerated projected gradient; every row of the dual lives in a simplex, so projections are exact."""
        x, y = problem.support[:, None], problem.one_hot[:, None]
        kernel = x @ x.swapaxes(-1, -2)
        step = 1.0 / np.maximum(np.linalg.eigvalsh(kernel)[..., -1], 1e-12)[..., None, None]
        radius = self.strength * weights[..., None]
        dual = self.descend(kernel, y, radius, step)
        return LinearRule(x.swapaxes(-1, -2) @ dual, np.zeros((*weights.shape[:2], 1, problem.ways)))

    def descend(self, kernel: Array, y: Array, radius: Array, step: Array) -> Array:
        """Minimise from zero until a step moves no coefficient by more than `tolerance` of its bound."""
        current = np.zeros((*radius.shape[:3], y.shape[-1]))
        ahead, momentum = current, 1.0
        for _ in range(self.steps):
            moved = ahead - step * (kernel @ ahead - y)
            following = radius * y - onto_simplex(radius * y - moved, radius)
            move = following - current
            if np.abs(move).max() < self.tolerance * self.strength:
                return following
            uphill = ((ahead - following) * move).sum(axis=(-1, -2), keepdims=True) > 0
            larger = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = following + np.where(uphill, 0.0, (momentum - 1) / larger) * move
            current, momentum = following, larger
        raise NotConverged(f"support vector machine: still moving after {self.steps} steps")


def onto_simplex(points: Array, radius: Array) -> Array:
    """Nearest point with non-negative entries that sum to `radius` (last axis; Duchi et al. 2008)."""
    ordered = -np.sort(-points, axis=-1)
    excess = (np.cumsum(ordered, axis=-1) - radius) / np.arange(1, points.shape[-1] + 1)
    kept = (ordered > excess).sum(axis=-1, keepdims=True)
    cut = np.take_along_axis(excess, np.maximum(kept - 1, 0), axis=-1)
    return np.maximum(points - cut, 0.0)
