"""Are two learners different, equivalent, or is the evidence undecided?

From paired per-task differences, never from overlapping intervals: two one-sided t tests (TOST, Schuirmann 1987) for
equivalence within a margin, a paired t test for a difference: as `weigh_differences` has them, for boards too.
"""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anyshot_analysis.undefined import Undefined
from anyshot_scoring.reliability.differences import MARGIN, weigh_differences


class EquivalenceVerdict(StrEnum):
    """What paired differences say at the chosen level."""

    DIFFERENT = "different"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Equivalence:
    """Mean paired difference (first minus second) with its 95 % interval, and the verdict.

    `equivalence_p` is the larger of the two one-sided p values. A difference that is significant but surely
    smaller than the margin is `equivalent`: it is too small to matter.
    """

    mean: float
    half_width: float
    tasks: int
    margin: float
    difference_p: float
    equivalence_p: float
    verdict: EquivalenceVerdict

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.verdict.value}


def compare_paired(
    first: ArrayLike, second: ArrayLike, margin: float = MARGIN, level: float = 0.05
) -> Equivalence | Undefined:
    """Verdict on two learners' accuracies `[tasks]` on the same tasks.

    Population: other tasks drawn as these were. Undefined for fewer than two tasks; two learners that never differ
    are equivalent.
    """
    one, two = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if one.shape != two.shape or one.ndim != 1:
        raise ValueError(f"paired accuracies are two lists of one length, found {one.shape} and {two.shape}")
    if margin <= 0:
        raise ValueError(f"the margin is positive, found {margin}")
    if len(one) < 2:
        return Undefined("a paired comparison needs two tasks")
    found = weigh_differences(one - two, margin, level)
    assert found.half_width is not None and found.difference_p is not None and found.equivalence_p is not None
    return Equivalence(
        found.mean,
        found.half_width,
        len(one),
        margin,
        found.difference_p,
        found.equivalence_p,
        EquivalenceVerdict(found.verdict),
    )
