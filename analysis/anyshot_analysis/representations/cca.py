"""Canonical correlation analysis with a rank cut, SVCCA and PWCCA.

Raghu et al. 2017 (SVCCA) and Morcos et al. 2018 (PWCCA). Written out rather than taken from a library: those
in circulation cut by an absolute threshold, add a ridge, weight PWCCA by whichever side came first, or divide
SVCCA by the wrong count.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anyshot_analysis.representations.cka import CONSTANT
from anyshot_analysis.representations.rows import Matrix, Pair, pair
from anyshot_analysis.undefined import Undefined

Kept = Literal["sum", "variance"]
Side = Literal["x", "y"]


@dataclass(frozen=True)
class CanonicalCorrelations:
    """Correlations in falling order; `rank_x`, `rank_y` are the dimensions left on either side."""

    correlations: NDArray[np.float64]
    rank_x: int
    rank_y: int

    @property
    def mean(self) -> float:
        return float(self.correlations.mean())

    @property
    def mean_squared(self) -> float:
        return float((self.correlations**2).mean())


@dataclass(frozen=True)
class ProjectionWeighted:
    """PWCCA similarity and the side whose neurons gave the weights."""

    similarity: float
    side: Side
    weights: NDArray[np.float64]


@dataclass(frozen=True)
class Basis:
    """Thin SVD of one side after the rank cut: `vectors` `[rows, rank]` orthonormal, `scales` `[rank]`."""

    vectors: Matrix
    scales: NDArray[np.float64]

    @property
    def rank(self) -> int:
        return len(self.scales)


def basis(side: Matrix, examples: int) -> Basis:
    """Left singular vectors above the numerical rank, s > max(N, D) eps s_max; `examples` is the full N."""
    left, scales, _ = np.linalg.svd(side, full_matrices=False)
    cut = max(examples, side.shape[1]) * np.finfo(np.float64).eps * (scales[0] if len(scales) else 0.0)
    rank = int((scales > cut).sum())
    return Basis(left[:, :rank], scales[:rank])


def refuse(sides: Pair) -> Undefined | None:
    """Why CCA is undefined for this pair: with fewer examples than neurons every correlation can be 1."""
    widest = max(sides.widths)
    if sides.examples < widest:
        return Undefined(
            f"{sides.examples} examples for {widest} neurons: CCA needs at least as many examples"
        )
    return None


def correlate(x: Basis, y: Basis) -> CanonicalCorrelations:
    """Correlations of two orthonormal bases; min(rank) of them, clipped to [0, 1] for rounding."""
    values = np.linalg.svd(x.vectors.T @ y.vectors, compute_uv=False)
    return CanonicalCorrelations(np.clip(values, 0.0, 1.0).astype(np.float64), x.rank, y.rank)


def canonical_correlations(x: ArrayLike, y: ArrayLike) -> CanonicalCorrelations | Undefined:
    """CCA of `[N, Dx]` and `[N, Dy]`; undefined for N < D or a constant side."""
    return cca_of_pair(pair(x, y))


def cca_of_pair(sides: Pair) -> CanonicalCorrelations | Undefined:
    """CCA of an already centred pair."""
    found = bases(sides)
    return found if isinstance(found, Undefined) else correlate(*found)


def bases(sides: Pair) -> tuple[Basis, Basis] | Undefined:
    """Both sides after the rank cut, or why CCA is undefined."""
    if (reason := refuse(sides)) is not None:
        return reason
    left, right = basis(sides.x, sides.examples), basis(sides.y, sides.examples)
    return Undefined(CONSTANT) if 0 in (left.rank, right.rank) else (left, right)


def components_kept(scales: NDArray[np.float64], share: float, kept: Kept) -> int:
    """Smallest k whose first k singular values (`sum`), or their squares (`variance`), reach `share`."""
    mass = np.cumsum(scales if kept == "sum" else scales**2)
    # A relative slack of rounding size, or a share of 1 asks for directions that hold nothing.
    return int(np.searchsorted(mass, share * mass[-1] * (1 - 1e-14)) + 1)


def svcca(
    x: ArrayLike, y: ArrayLike, share: float = 0.99, kept: Kept = "sum"
) -> CanonicalCorrelations | Undefined:
    """CCA of the leading singular directions of either side; its `mean` is the SVCCA similarity.

    `kept="sum"` is what the paper prints (and the default), `"variance"` what its text calls explaining 99 %
    of the variance. The mean is over min(k1, k2) correlations.
    """
    if not 0 < share <= 1:
        raise ValueError(f"the share of singular values kept lies in (0, 1], found {share}")
    found = bases(pair(x, y))
    return found if isinstance(found, Undefined) else svcca_of_bases(*found, share, kept)


def svcca_of_bases(
    left: Basis, right: Basis, share: float = 0.99, kept: Kept = "sum"
) -> CanonicalCorrelations:
    """SVCCA of two sides after the rank cut."""
    return correlate(truncate(left, share, kept), truncate(right, share, kept))


def truncate(side: Basis, share: float, kept: Kept) -> Basis:
    """The leading components of a basis."""
    count = components_kept(side.scales, share, kept)
    return Basis(side.vectors[:, :count], side.scales[:count])


def pwcca(x: ArrayLike, y: ArrayLike) -> ProjectionWeighted | Undefined:
    """Projection-weighted CCA: sum of weight times correlation over the min-rank directions.

    The weights come from the side of lower rank (the first at equal rank): alpha_i = sum_j |<h_i, x_j>| over its
    neurons x_j and its orthonormal canonical vectors h_i. Only that side has one canonical vector a correlation.
    """
    sides = pair(x, y)
    found = bases(sides)
    return found if isinstance(found, Undefined) else pwcca_of_bases(sides, *found)


def pwcca_of_bases(sides: Pair, left: Basis, right: Basis) -> ProjectionWeighted:
    """PWCCA of a centred pair whose bases are at hand."""
    return weigh(left, right, sides.x, sides.y)


def weigh(left: Basis, right: Basis, x: Matrix, y: Matrix) -> ProjectionWeighted:
    """PWCCA of two bases and the neurons that they are of."""
    side: Side = "x" if left.rank <= right.rank else "y"
    lower, other, neurons = (left, right, x) if side == "x" else (right, left, y)
    turn, correlations, _ = np.linalg.svd(lower.vectors.T @ other.vectors, full_matrices=False)
    weights = np.abs((lower.vectors @ turn).T @ neurons).sum(axis=1)
    weights /= weights.sum()
    return ProjectionWeighted(float(weights @ np.clip(correlations, 0.0, 1.0)), side, weights)
