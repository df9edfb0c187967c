"""Nearest class mean (Snell et al. 2017)."""

from dataclasses import dataclass

import numpy as np

from anyshot_analysis.heads.linear import LinearRule, class_means
from anyshot_analysis.heads.problem import Array, FittingProblem


@dataclass(frozen=True)
class ProtoNet:
    """Squared Euclidean distance to the class means: the linear rule 2 c'x - |c|^2."""

    name: str = "protonet"

    def fit(self, problem: FittingProblem, weights: Array) -> LinearRule:
        """The class means as a linear rule."""
        means = class_means(problem, weights)
        return LinearRule(2 * means.swapaxes(-1, -2), -np.vecdot(means, means)[..., None, :])
