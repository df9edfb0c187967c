"""What a fitted head is."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.heads.problem import Array, FittingProblem


class FittedClassifier(Protocol):
    """A fitted classifier of `S` resamplings of each of `T` support sets."""

    def predict(self, points: Array) -> NDArray[np.int64]:
        """Labels `[T, S, m]` of `points` `[T, m, F]`."""
        ...


class Head(Protocol):
    """A learning rule on frozen features."""

    @property
    def name(self) -> str: ...

    def fit(self, problem: FittingProblem, weights: Array) -> FittedClassifier:
        """Fit once for each row of `weights` `[T, S, n]`: how often each support image counts (0: left out).

        Every class needs positive weight in every row.
        """
        ...


@dataclass(frozen=True)
class LinearRule:
    """Scores are points times `weight` `[T, S, F, ways]` plus `bias` `[T, S, 1, ways]`; the lowest index wins a tie."""

    weight: Array
    bias: Array

    def scores(self, points: Array) -> Array:
        """`[T, S, m, ways]`."""
        return points[:, None] @ self.weight + self.bias

    def predict(self, points: Array) -> NDArray[np.int64]:
        """Labels `[T, S, m]`."""
        return self.scores(points).argmax(axis=-1)


def class_means(problem: FittingProblem, weights: Array) -> Array:
    """Weighted class means `[T, S, ways, F]`."""
    shares = weights[..., None] * problem.one_hot[:, None]
    return (shares.swapaxes(-1, -2) @ problem.support[:, None]) / shares.sum(axis=2)[..., None]


def softmax(scores: Array) -> Array:
    """Over the last axis."""
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)
