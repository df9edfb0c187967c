"""Support sets of several tasks of one shape, in the coordinates that matter."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anyshot_analysis.episodes import Episodes

Array = NDArray[np.float64]


class BadProblem(ValueError):
    """Features and labels of a support set that do not fit."""


@dataclass(frozen=True)
class FittingProblem:
    """`support` `[T, n, F]`, `labels` `[T, n]` in `[0, ways)`, `queries` `[T, m, F]` (m may be 0)."""

    support: Array
    labels: NDArray[np.int64]
    queries: Array
    ways: int

    def __post_init__(self) -> None:
        tasks, images, width = self.support.shape
        if self.labels.shape != (tasks, images) or self.queries.shape[::2] != (tasks, width):
            shapes = f"{self.support.shape}, {self.labels.shape}, {self.queries.shape}"
            raise BadProblem(f"support, labels and queries do not fit: {shapes}")
        if self.labels.min() < 0 or self.labels.max() >= self.ways:
            raise BadProblem(f"labels lie outside [0, {self.ways})")

    @property
    def tasks(self) -> int:
        return len(self.support)

    @property
    def one_hot(self) -> Array:
        """`[T, n, ways]`."""
        return np.eye(self.ways)[self.labels]

    def class_counts(self) -> NDArray[np.int64]:
        """Support images of each class, `[T, ways]`."""
        return self.one_hot.sum(axis=1).astype(np.int64)


def compact(problem: FittingProblem) -> FittingProblem:
    """The same problem in at most n coordinates: an orthonormal basis of each task's support.

    Heads that see images through inner products with the support only (all of them but MAML) give the same
    answers there, for a fraction of the work: 25 coordinates instead of 512.
    """
    _, images, width = problem.support.shape
    if width <= images:
        return problem
    basis = np.linalg.qr(problem.support.transpose(0, 2, 1))[0]
    return FittingProblem(problem.support @ basis, problem.labels, problem.queries @ basis, problem.ways)


def problem_of(values: ArrayLike, episodes: Episodes, unit_length: bool = True) -> FittingProblem:
    """Episodes on features `[n, F]` as a problem; images are brought to length 1 unless asked otherwise."""
    table = np.asarray(values)
    tasks = len(episodes)
    support = table[episodes.support.reshape(tasks, -1)].astype(np.float64)
    queries = table[episodes.query.reshape(tasks, -1)].astype(np.float64)
    if unit_length:
        support, queries = to_unit_length(support), to_unit_length(queries)
    labels = np.repeat(np.arange(episodes.ways), episodes.support.shape[2])
    return FittingProblem(support, np.broadcast_to(labels, (tasks, len(labels))), queries, episodes.ways)


def to_unit_length(values: Array) -> Array:
    """Rows divided by their length; a zero row stays zero."""
    lengths = np.linalg.norm(values, axis=-1, keepdims=True)
    return np.divide(values, lengths, out=np.zeros_like(values), where=lengths > 0)
