"""The diversity coefficient: how far apart two tasks of a pool are, on average, and against what floor."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from anyshot_analysis.undefined import Quantity, Undefined, as_json


class BadDistances(ValueError):
    """Distances are a square symmetric matrix with a zero diagonal."""


@dataclass(frozen=True)
class MeanWithInterval:
    """A mean with a 95 % interval; `method` names what was resampled."""

    mean: float
    half_width: Quantity
    method: str

    def to_dict(self) -> dict[str, Any]:
        return {"mean": self.mean, "half_width": as_json(self.half_width), "method": self.method}


@dataclass(frozen=True)
class Pairing:
    """A pair of tasks by their positions, and their distance."""

    first: int
    second: int
    distance: float


def check_distances(distances: ArrayLike) -> NDArray[np.float64]:
    """Square, symmetric, zero diagonal, at least two tasks."""
    matrix = np.asarray(distances, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise BadDistances(f"needs the square matrix of at least two tasks, found shape {matrix.shape}")
    if (
        not np.isfinite(matrix).all()
        or not np.allclose(matrix, matrix.T, atol=1e-12)
        or np.diag(matrix).any()
    ):
        raise BadDistances("the distances are not finite, symmetric and zero on the diagonal")
    return matrix


def diversity(distances: ArrayLike, confidence: float = 0.95) -> MeanWithInterval:
    """Mean over unordered pairs of distinct tasks, interval by the delete-one-task jackknife.

    Pairs that share a task are dependent; deleting tasks, not pairs, respects that: t with tasks - 1 degrees of
    freedom covers the true mean in 96 % of draws, where the papers' interval covers it in 7 % at 500 tasks.
    Population: other tasks drawn from the same pool by the same protocol.
    """
    matrix = check_distances(distances)
    n = len(matrix)
    rows, total = matrix.sum(axis=1), matrix.sum()
    mean = total / (n * (n - 1))
    if n < 4:
        return MeanWithInterval(
            float(mean), Undefined(f"the jackknife needs 4 tasks, there are {n}"), "jackknife over tasks"
        )
    without = (total - 2 * rows) / ((n - 1) * (n - 2))
    error = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    half = stats.t.ppf(0.5 + confidence / 2, n - 1) * error
    return MeanWithInterval(float(mean), float(half), "jackknife over tasks")


def diversity_pairs_as_independent(distances: ArrayLike, confidence: float = 0.95) -> MeanWithInterval:
    """The papers' interval, which takes all pairs for independent: much too narrow, kept for comparison only."""
    matrix = check_distances(distances)
    pairs = matrix[np.triu_indices(len(matrix), 1)]
    method = "pairs as independent (as published; too narrow)"
    if len(pairs) < 2:
        return MeanWithInterval(float(pairs.mean()), Undefined("a single pair has no spread"), method)
    half = stats.t.ppf(0.5 + confidence / 2, len(pairs) - 1) * pairs.std(ddof=1) / np.sqrt(len(pairs))
    return MeanWithInterval(float(pairs.mean()), float(half), method)


def noise_floor(distances: ArrayLike, confidence: float = 0.95) -> MeanWithInterval:
    """Mean distance `[repeats]` of independent draws of one task (same classes, other images): zero diversity."""
    values = np.asarray(distances, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0 or not np.isfinite(values).all():
        raise BadDistances("the floor needs a list of finite distances")
    method = "independent draws of one task"
    if len(values) < 2:
        return MeanWithInterval(float(values.mean()), Undefined("a single repeat has no spread"), method)
    half = stats.t.ppf(0.5 + confidence / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return MeanWithInterval(float(values.mean()), float(half), method)


def nearest_pair(distances: ArrayLike, across: ArrayLike | None = None) -> Pairing | Undefined:
    """The closest two tasks; with group labels `across` `[tasks]`, the closest two of different groups."""
    matrix = check_distances(distances).copy()
    np.fill_diagonal(matrix, np.inf)
    if across is not None:
        groups = np.asarray(across)
        matrix[groups[:, None] == groups[None, :]] = np.inf
    first, second = np.unravel_index(np.argmin(matrix), matrix.shape)
    if not np.isfinite(matrix[first, second]):
        return Undefined("all tasks are of one group")
    return Pairing(int(first), int(second), float(matrix[first, second]))


def group_distances(distances: ArrayLike, groups: ArrayLike) -> tuple[list[str], NDArray[np.float64]]:
    """Mean distance between groups of tasks (datasets or phases), within a group over distinct pairs.

    Returns the names in order and `[groups, groups]`; NaN on the diagonal of a group with a single task.
    """
    matrix, labels = check_distances(distances), np.asarray(groups).astype(str)
    names = sorted(set(labels.tolist()))
    member = np.stack([labels == name for name in names]).astype(np.float64)
    sums = member @ matrix @ member.T
    sizes = member.sum(axis=1)
    counts = np.outer(sizes, sizes) - np.diag(sizes)
    return names, np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
