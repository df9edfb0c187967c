"""The indicative interval of a mean over tasks."""

from typing import cast

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from anyshot_scoring.errors import ScoringError


def t_interval(values: ArrayLike, confidence: float = 0.95) -> tuple[float, float | None]:
    """Mean and half width t_{(1+c)/2, n-1} s / sqrt(n), s with ddof 1 (NeurIPS'22 Cross-Domain MetaDL).

    The half width of one value is undefined: None. Equal values have the half width 0. Raises `ScoringError`
    for no value at all, and for values that are not finite.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise ScoringError("An interval needs a flat array with at least one value.")
    if not np.isfinite(array).all():
        raise ScoringError("An interval over values that are not finite is undefined.")
    if array.min() == array.max():  # the mean of equal numbers would differ from them by rounding
        return float(array[0]), None if array.size == 1 else 0.0
    return float(array.mean()), t_half_width(float(array.std(ddof=1)), array.size, confidence)


def t_half_width(deviation: float, n: int, confidence: float = 0.95) -> float | None:
    """Half width of the interval of a mean of n values with the standard deviation `deviation` (ddof 1)."""
    if n < 2:
        return None
    quantile = cast(float, special.stdtrit(n - 1, 0.5 + confidence / 2))
    return float(quantile * deviation / np.sqrt(n))
