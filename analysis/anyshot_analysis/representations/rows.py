"""The two matrices of a comparison: rows are the same examples, columns neurons, centred."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Matrix = NDArray[np.float64]


class BadRepresentation(ValueError):
    """The input is not a pair of finite matrices over the same examples."""


def centred(values: ArrayLike) -> Matrix:
    """`[N, D]` in float64 with columns of mean zero; BadRepresentation for anything else."""
    matrix = np.array(values, dtype=np.float64)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise BadRepresentation(f"a representation is [examples, neurons], found shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise BadRepresentation("a representation holds NaN or infinity")
    # Columns that are constant up to rounding must become exactly zero, or their noise counts as a neuron.
    scale = np.abs(matrix).max(axis=0)
    matrix -= matrix.mean(axis=0)
    constant = np.abs(matrix).max(axis=0) <= 8 * np.finfo(np.float64).eps * scale
    matrix[:, constant] = 0.0
    return matrix


@dataclass(frozen=True)
class Pair:
    """Two centred representations of `examples` examples, with the rows rotated into a small common space.

    `x` and `y` are `[min(N, Dx + Dy), D]`: the R factor of a QR decomposition of both side by side. Every
    inner product between columns is kept, so all quantities built from them alone (CKA, OPD, CCA and its
    relatives) are exactly those of the full matrices, at a fraction of the time.
    """

    x: Matrix
    y: Matrix
    examples: int

    @property
    def widths(self) -> tuple[int, int]:
        return self.x.shape[1], self.y.shape[1]


def pair(x: ArrayLike, y: ArrayLike) -> Pair:
    """Centre both sides and compress them; BadRepresentation if they differ in their number of examples."""
    left, right = centred(x), centred(y)
    if len(left) != len(right):
        raise BadRepresentation(f"{len(left)} examples on one side, {len(right)} on the other")
    return compress(left, right)


def compress(left: Matrix, right: Matrix) -> Pair:
    """The pair of two centred matrices."""
    examples, both = len(left), left.shape[1] + right.shape[1]
    if examples <= both:
        return Pair(left, right, examples)
    triangle: Matrix = np.asarray(np.linalg.qr(np.hstack([left, right]), mode="r"))
    return Pair(triangle[:, : left.shape[1]], triangle[:, left.shape[1] :], examples)
