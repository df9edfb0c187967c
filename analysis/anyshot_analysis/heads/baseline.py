"""Logistic regression on frozen features (the Baseline of Chen et al. 2019)."""

from dataclasses import dataclass

import numpy as np

from anyshot_analysis.heads.linear import LinearRule, softmax
from anyshot_analysis.heads.problem import Array, FittingProblem


class NotConverged(RuntimeError):
    """An iterative head did not reach its tolerance."""


@dataclass(frozen=True)
class BaselineHead:
    """min_W,b strength * sum_i w_i loss_i + |W|^2 / 2, the bias free: scikit-learn's objective with C = strength."""

    strength: float = 1.0
    tolerance: float = 1e-6
    steps: int = 20_000
    name: str = "baseline"

    def fit(self, problem: FittingProblem, weights: Array) -> LinearRule:
        """Accelerated gradient descent with restarts, all fits side by side, until every gradient is small.

        The free bias is a coordinate `reach` times longer without penalty, in which the problem is better conditioned.
        """
        x, y = problem.support[:, None], problem.one_hot[:, None]
        reach = float(np.linalg.norm(problem.support, axis=-1).mean()) or 1.0
        x = np.concatenate([x, np.full((*x.shape[:-1], 1), reach)], axis=-1)
        penalty = np.ones((x.shape[-1], 1))
        penalty[-1] = 0.0
        loss_weights = self.strength * weights[..., None]
        # The softmax's curvature is at most 1/2; the Gram matrix's largest eigenvalue is at most its trace.
        gram = (x * loss_weights).swapaxes(-1, -2) @ x
        largest = np.asarray(np.linalg.eigvalsh(gram), np.float64)[..., -1, None, None]
        step = 1.0 / (1.0 + 0.5 * largest)
        found = self.descend(x, y, loss_weights, penalty, step)
        return LinearRule(found[..., :-1, :], reach * found[..., -1:, :])

    def descend(self, x: Array, y: Array, loss_weights: Array, penalty: Array, step: Array) -> Array:
        """Minimise from zero; NotConverged after `steps`."""
        current = np.zeros((*loss_weights.shape[:2], x.shape[-1], y.shape[-1]))
        ahead, momentum = current, np.ones((*loss_weights.shape[:2], 1, 1))
        turned = x.swapaxes(-1, -2)
        for number in range(self.steps):
            gradient = turned @ (loss_weights * (softmax(x @ ahead) - y)) + penalty * ahead
            if number % 10 == 0 and np.abs(gradient).max() < self.tolerance:
                return ahead
            following = ahead - step * gradient
            move = following - current
            # Restart the momentum of a fit that has begun to move uphill (O'Donoghue and Candes 2015).
            uphill = (gradient * move).sum(axis=(-1, -2), keepdims=True) > 0
            larger = np.where(uphill, 1.0, (1 + np.sqrt(1 + 4 * momentum**2)) / 2)
            ahead = following + np.where(uphill, 0.0, (momentum - 1) / larger) * move
            current, momentum = following, larger
        raise NotConverged(
            f"logistic regression: gradient {np.abs(gradient).max():.1e} after {self.steps} steps"  # pyright: ignore[reportPossiblyUnboundVariable]
        )
