"""Ridge regression on one-hot labels (Bertinetto et al. 2019, R2D2)."""

from dataclasses import dataclass

import numpy as np

from anyshot_analysis.heads.linear import LinearRule
from anyshot_analysis.heads.problem import Array, FittingProblem


@dataclass(frozen=True)
class R2D2:
    """(X'AX + ridge I)^-1 X'A Y without a bias, A the images' weights.

    R2D2's learned scale does not change the argmax.
    """

    ridge: float = 1.0
    name: str = "r2d2"

    def fit(self, problem: FittingProblem, weights: Array) -> LinearRule:
        """Solve the ridge regression in closed form (Bertinetto et al. 2019)."""
        x = problem.support[:, None]
        weighted = x.swapaxes(-1, -2) * weights[:, :, None, :]
        gram = weighted @ x + self.ridge * np.eye(x.shape[-1])
        solved = np.linalg.solve(gram, weighted @ problem.one_hot[:, None])
        return LinearRule(np.asarray(solved, np.float64), np.zeros((*weights.shape[:2], 1, problem.ways)))
