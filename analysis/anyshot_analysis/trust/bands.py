"""A participant's question: is my predictor safe on this task? Answered with a band calibrated on public data."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from anyshot_analysis.undefined import Quantity, Undefined, defined_only


class Trust(StrEnum):
    """What the support set tells about the predictor."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    CANNOT_TELL = "cannot tell"
    NOT_ESTIMABLE = "not estimable"


@dataclass(frozen=True)
class Band:
    """Accuracy lies within `[estimate + low, estimate + high]` in `coverage` of tasks like the public ones.

    Population: tasks of datasets like those the band was calibrated on.
    """

    low: float
    high: float
    coverage: float
    tasks: int

    def around(self, estimate: float) -> tuple[float, float]:
        """The band of one task, within [0, 1]."""
        return max(0.0, estimate + self.low), min(1.0, estimate + self.high)


def calibrate(estimates: Sequence[Quantity], truth: ArrayLike, coverage: float = 0.9) -> Band | Undefined:
    """Split-conformal band of oracle minus estimate over public tasks (Vovk et al.): valid for exchangeable tasks."""
    true = np.asarray(truth, dtype=np.float64)
    gaps = [t - float(e) for e, t in zip(estimates, true, strict=True) if not isinstance(e, Undefined)]
    n, share = len(gaps), (1 - coverage) / 2
    below, above = int(np.floor(share * (n + 1))), int(np.ceil((1 - share) * (n + 1)))
    if below < 1 or above > n:
        return Undefined(f"{n} estimable tasks are too few to calibrate a {coverage:.0%} band")
    ordered = np.sort(gaps)
    return Band(float(ordered[below - 1]), float(ordered[above - 1]), coverage, n)


def judge(estimate: Quantity, band: Band, wanted: float) -> Trust:
    """Whether the accuracy is surely at least `wanted`, surely below, or neither."""
    if isinstance(estimate, Undefined):
        return Trust.NOT_ESTIMABLE
    low, high = band.around(float(estimate))
    if low >= wanted:
        return Trust.SAFE
    return Trust.UNSAFE if high < wanted else Trust.CANNOT_TELL


def coverage_of(band: Band, estimates: Sequence[Quantity], truth: ArrayLike) -> Quantity:
    """Share of tasks whose accuracy the band holds."""
    true = np.asarray(truth, dtype=np.float64)
    pairs = [(float(e), t) for e, t in zip(estimates, true, strict=True) if not isinstance(e, Undefined)]
    if not pairs:
        return Undefined("no task was estimable")
    inside = [low - 1e-12 <= t <= high + 1e-12 for e, t in pairs for low, high in [band.around(e)]]
    numbers, _ = defined_only([float(i) for i in inside])
    return float(np.mean(numbers))
