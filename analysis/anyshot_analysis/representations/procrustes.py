"""Orthogonal Procrustes distance (Ding, Denain and Steinhardt 2021)."""

import numpy as np
from numpy.typing import ArrayLike

from anyshot_analysis.representations.cka import CONSTANT
from anyshot_analysis.representations.rows import Pair, pair
from anyshot_analysis.undefined import Quantity, Undefined


def procrustes_distance(x: ArrayLike, y: ArrayLike) -> Quantity:
    """1 - |X'Y|_* of `[N, D]` matrices, centred and of Frobenius norm 1: 0 for rotations, at most 1."""
    return procrustes_of_pair(pair(x, y))


def procrustes_of_pair(sides: Pair) -> Quantity:
    """Orthogonal Procrustes distance of an already centred pair."""
    scale = np.linalg.norm(sides.x) * np.linalg.norm(sides.y)
    if scale == 0:
        return Undefined(CONSTANT)
    nuclear = np.linalg.svd(sides.x.T @ sides.y, compute_uv=False).sum() / scale
    return float(max(0.0, 1.0 - nuclear))
