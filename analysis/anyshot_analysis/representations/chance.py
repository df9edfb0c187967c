"""What independent representations would score: the level beside which every similarity is to be read.

Independent means that the images of one side are paired with other images of the other side. Where the rows are
positions of convolutional maps, the positions of an image stay together: they depend on each other, and are no
examples of their own. All rows come image by image, each with the same positions.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from anyshot_analysis.representations.cca import Basis, basis, correlate, truncate, weigh
from anyshot_analysis.representations.rows import BadRepresentation, Matrix, centred
from anyshot_analysis.undefined import Quantity, Undefined, defined_only

CONSTANT = "a representation is the same for every example"
ONE_IMAGE = "a single image cannot be paired with another"


def expected_overlap(x: Matrix, y: Matrix, positions: int = 1) -> Quantity:
    """The mean of |Y'X|_F^2 over all pairings of whole images, exactly.

    `x` `[M P, Dx]` and `y` `[M P, Dy]` are centred, image by image, with P `positions` each. With K[p, q] the sum over
    images of <x_mp, x_mq>, and A[p, q] that over pairs of different images, the mean is
    sum(K_x K_y) / M + sum(A_x A_y) / (M (M - 1)). For P = 1 it is tr(XX') tr(YY') / (M - 1).
    """
    images = _images(x, y, positions)
    if images < 2:
        return Undefined(ONE_IMAGE)
    (same_x, other_x), (same_y, other_y) = (_products(side, images, positions) for side in (x, y))
    return float((same_x * same_y).sum() / images + (other_x * other_y).sum() / (images * (images - 1)))


def _images(x: Matrix, y: Matrix, positions: int) -> int:
    if len(x) != len(y) or positions < 1 or len(x) % positions:
        raise BadRepresentation(
            f"{len(x)} and {len(y)} rows are not the same images with {positions} positions each"
        )
    return len(x) // positions


def _products(side: Matrix, images: int, positions: int) -> tuple[Matrix, Matrix]:
    """Inner products of positions `[P, P]`, summed over images, and over pairs of different images."""
    rows = side.reshape(images, positions, -1).transpose(1, 0, 2)
    flat, sums = rows.reshape(positions, -1), rows.sum(axis=1)
    same = flat @ flat.T
    return same, sums @ sums.T - same


def chance_cka(x: Matrix, y: Matrix, positions: int = 1) -> Quantity:
    """Mean of biased linear CKA over all pairings of whole images, of centred `[N, D]` matrices; exact."""
    scale = np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y)
    if scale == 0:
        return Undefined(CONSTANT)
    overlap = expected_overlap(x, y, positions)
    return overlap if isinstance(overlap, Undefined) else overlap / float(scale)


def chance_cca(x: Matrix, y: Matrix, positions: int = 1) -> Quantity:
    """Mean over all pairings of whole images of the mean squared canonical correlation, of centred matrices; exact.

    The squared correlations sum to |Q_y'Q_x|_F^2 for orthonormal bases Q. For one position an image the mean is
    r_x r_y / (N - 1) over min(r), whatever the ranks r are: also where some correlations are 1 for any data.
    """
    return chance_of_bases(basis(x, len(x)), basis(y, len(y)), positions)


def chance_of_bases(x: Basis, y: Basis, positions: int = 1) -> Quantity:
    """`chance_cca` from bases of all rows."""
    if 0 in (x.rank, y.rank):
        return Undefined(CONSTANT)
    overlap = expected_overlap(x.vectors, y.vectors, positions)
    return overlap if isinstance(overlap, Undefined) else overlap / min(x.rank, y.rank)


@dataclass(frozen=True)
class PermutationLevel:
    """Mean and 2.5 to 97.5 % range of a quantity over random pairings of the images."""

    mean: float
    low: float
    high: float
    permutations: int


def permutation_level(
    quantity: Callable[[Matrix, Matrix], Quantity],
    x: ArrayLike,
    y: ArrayLike,
    permutations: int = 100,
    seed: int = 0,
    positions: int = 1,
) -> PermutationLevel | Undefined:
    """The chance level of any quantity of two `[N, D]` matrices: `y`'s images shuffled `permutations` times."""
    left, right = centred(x), centred(y)
    images = _images(left, right, positions)
    if images < 2:
        return Undefined(ONE_IMAGE)
    rng = np.random.default_rng(seed)
    values = [quantity(left, right[_shuffled(images, positions, rng)]) for _ in range(permutations)]
    return _level(values)


def permutation_levels(
    x: Matrix, y: Matrix, positions: int = 1, permutations: int = 40, seed: int = 0
) -> Mapping[str, PermutationLevel | Undefined]:
    """Chance levels of the quantities that have no formula: `procrustes`, `cca`, `svcca`, `pwcca`.

    One decomposition of either side serves all pairings. `x` and `y` are centred, image by image.
    """
    names, images = ("procrustes", "cca", "svcca", "pwcca"), _images(x, y, positions)
    scale = float(np.linalg.norm(x) * np.linalg.norm(y))
    if images < 2 or scale == 0:
        return dict.fromkeys(names, Undefined(CONSTANT if scale == 0 else ONE_IMAGE))
    left, right, rng = basis(x, len(x)), basis(y, len(y)), np.random.default_rng(seed)
    short, small = truncate(left, 0.99, "sum"), truncate(right, 0.99, "sum")
    found: dict[str, list[Quantity]] = {name: [] for name in names}
    for _ in range(permutations):
        rows = _shuffled(images, positions, rng)
        moved = Basis(right.vectors[rows], right.scales)
        found["procrustes"].append(1.0 - float(np.linalg.svd(x.T @ y[rows], compute_uv=False).sum()) / scale)
        found["cca"].append(correlate(left, moved).mean)
        found["svcca"].append(correlate(short, Basis(small.vectors[rows], small.scales)).mean)
        found["pwcca"].append(weigh(left, moved, x, y[rows]).similarity)
    return {name: _level(values) for name, values in found.items()}


def _shuffled(images: int, positions: int, rng: np.random.Generator) -> np.ndarray:
    """Rows `[images * positions]` of the images in another order, each image's positions as they were."""
    return (rng.permutation(images)[:, None] * positions + np.arange(positions)).ravel()


def _level(values: list[Quantity]) -> PermutationLevel | Undefined:
    numbers, reasons = defined_only(values)
    if reasons:
        return Undefined(reasons[0])
    low, high = np.quantile(numbers, [0.025, 0.975])
    return PermutationLevel(float(np.mean(numbers)), float(low), float(high), len(numbers))
