"""Intervals of similarities over other images: the grouped jackknife, which deletes whole images."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from anyshot_analysis.representations.cka import cka_of_pair
from anyshot_analysis.representations.procrustes import procrustes_of_pair
from anyshot_analysis.representations.rows import BadRepresentation, Pair, pair
from anyshot_analysis.undefined import Quantity, Undefined

GROUPS = 20
_MEASURES: dict[str, tuple[Callable[[Pair], Quantity], str]] = {
    "CKA": (cka_of_pair, "similarity"),
    "Procrustes": (procrustes_of_pair, "distance"),
}


@dataclass(frozen=True)
class OverImages:
    """A measure with the half width of its 95 % interval over other images."""

    value: float
    half_width: float | Undefined
    unit: str


def jackknife(
    x: ArrayLike, y: ArrayLike, positions: int = 1, groups: int = GROUPS
) -> dict[str, OverImages | Undefined]:
    """CKA and Procrustes distance of `[N, Dx]` and `[N, Dy]` with intervals, from deleting groups of whole images.

    Images go to `groups` in turn; with `positions`, rows are so many of each image, image by image. The error is the
    delete-a-group jackknife's (Shao and Wu 1989), the interval t with groups - 1 degrees of freedom.
    """
    left, right = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(left) != len(right):
        raise BadRepresentation(f"{len(left)} examples on one side, {len(right)} on the other")
    image = np.arange(len(left)) // positions
    groups = min(groups, int(image[-1]) + 1)
    parts = (
        [pair(left[image % groups != g], right[image % groups != g]) for g in range(groups)]
        if groups > 2
        else []
    )
    whole = pair(left, right)
    return {name: _with_error(measure, unit, whole, parts) for name, (measure, unit) in _MEASURES.items()}


def _with_error(
    measure: Callable[[Pair], Quantity], unit: str, whole: Pair, parts: list[Pair]
) -> OverImages | Undefined:
    value = measure(whole)
    if isinstance(value, Undefined):
        return value
    without = [measure(part) for part in parts]
    known = np.array([v for v in without if not isinstance(v, Undefined)])
    if len(known) < 3:
        return OverImages(float(value), Undefined("fewer than three images"), unit)
    g = len(known)
    error = np.sqrt((g - 1) / g * ((known - known.mean()) ** 2).sum())
    return OverImages(float(value), float(stats.t.ppf(0.975, g - 1) * error), unit)
