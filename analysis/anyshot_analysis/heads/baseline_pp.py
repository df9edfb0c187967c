"""Cosine classifier on frozen features (the Baseline++ of Chen et al. 2019)."""

from dataclasses import dataclass

import numpy as np

from anyshot_analysis.heads.linear import LinearRule, class_means, softmax
from anyshot_analysis.heads.problem import Array, FittingProblem, to_unit_length


@dataclass(frozen=True)
class BaselinePP:
    """Cross-entropy of `scale` times the cosine of image and class weight, gradient descent on the unit sphere.

    Starts at the class means (a random start, as published, adds noise and nothing else) and takes a fixed number of
    `steps`, as published.
    """

    scale: float = 10.0
    steps: int = 100
    rate: float = 0.1
    name: str = "baseline++"

    def fit(self, problem: FittingProblem, weights: Array) -> LinearRule:
        """The class weights; the argmax does not depend on the length of an image's features."""
        x, y = to_unit_length(problem.support)[:, None], problem.one_hot[:, None]
        shares = (weights / weights.sum(axis=-1, keepdims=True))[..., None]
        start = FittingProblem(x[:, 0], problem.labels, problem.queries, problem.ways)
        directions = to_unit_length(class_means(start, weights)).swapaxes(-1, -2)
        for _ in range(self.steps):
            directions = self.descend(x, y, shares, directions)
        return LinearRule(directions, np.zeros((*weights.shape[:2], 1, problem.ways)))

    def gradient(self, x: Array, y: Array, shares: Array, directions: Array) -> Array:
        """Of the mean loss along the sphere, `[T, S, F, ways]`."""
        error = shares * (softmax(self.scale * (x @ directions)) - y)
        free = self.scale * (x.swapaxes(-1, -2) @ error)
        return free - directions * (free * directions).sum(axis=-2, keepdims=True)

    def descend(self, x: Array, y: Array, shares: Array, directions: Array) -> Array:
        """One step and back to the sphere."""
        moved = directions - self.rate * self.gradient(x, y, shares, directions)
        return moved / np.linalg.norm(moved, axis=-2, keepdims=True)
