"""Linear centred kernel alignment, biased and unbiased.

Kornblith et al. 2019 for the index; the diversity papers print its numerator without the square, which is
not scale-free and is not what their code computes: the square stands here. The unbiased variant replaces each
Hilbert-Schmidt independence criterion by Song et al.'s HSIC_1 (2012), and can be slightly negative.
"""

import numpy as np
from numpy.typing import ArrayLike

from anyshot_analysis.representations.rows import BadRepresentation, Matrix, Pair, centred, compress, pair
from anyshot_analysis.undefined import Quantity, Undefined

CONSTANT = "a representation is the same for every example"


def linear_cka(x: ArrayLike, y: ArrayLike) -> Quantity:
    """|Y'X|_F^2 / (|X'X|_F |Y'Y|_F) of `[N, Dx]` and `[N, Dy]`: 1 for rotations of one another, at least 0."""
    return cka_of_pair(pair(x, y))


def cka_of_pair(sides: Pair) -> Quantity:
    """Biased linear CKA of an already centred pair."""
    cross = np.linalg.norm(sides.x.T @ sides.y) ** 2
    scale = np.linalg.norm(sides.x.T @ sides.x) * np.linalg.norm(sides.y.T @ sides.y)
    return Undefined(CONSTANT) if scale == 0 else float(cross / scale)


def unbiased_cka(x: ArrayLike, y: ArrayLike) -> Quantity:
    """CKA from the unbiased HSIC_1 estimators; expected 0 for independent data. At least 4 examples."""
    left, right = centred(x), centred(y)
    if len(left) != len(right):
        raise BadRepresentation(f"{len(left)} examples on one side, {len(right)} on the other")
    return unbiased_of_rows(left, right, compress(left, right))


def unbiased_of_rows(left: Matrix, right: Matrix, sides: Pair) -> Quantity:
    """Unbiased CKA of centred `[N, D]` matrices whose compressed pair is at hand."""
    if sides.examples < 4:
        return Undefined(f"the unbiased estimator needs 4 examples, there are {sides.examples}")
    own_left = hsic_1(left, left, sides.x, sides.x)
    own_right = hsic_1(right, right, sides.y, sides.y)
    if own_left <= 0 or own_right <= 0:
        return Undefined("the unbiased estimate of a representation's own HSIC is not positive")
    return float(hsic_1(left, right, sides.x, sides.y) / np.sqrt(own_left * own_right))


def hsic_1(x: Matrix, y: Matrix, small_x: Matrix, small_y: Matrix) -> float:
    """Song et al. 2012, eq. 4, for linear kernels of centred `[N, D]` matrices, without an N x N matrix.

    With K = XX' less its diagonal: tr(KL) + 1'K1 1'L1 / ((n-1)(n-2)) - 2/(n-2) 1'KL1, over n(n-3). The compressed
    sides serve the one product that costs anything, |X'Y|_F^2.
    """
    n = len(x)
    norms_x, norms_y = np.einsum("ij,ij->i", x, x), np.einsum("ij,ij->i", y, y)
    rows_x = x @ x.sum(axis=0) - norms_x
    rows_y = y @ y.sum(axis=0) - norms_y
    trace = np.linalg.norm(small_x.T @ small_y) ** 2 - norms_x @ norms_y
    total = trace + rows_x.sum() * rows_y.sum() / ((n - 1) * (n - 2)) - 2 / (n - 2) * (rows_x @ rows_y)
    return float(total / (n * (n - 3)))
