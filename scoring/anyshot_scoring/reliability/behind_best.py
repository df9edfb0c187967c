"""How far a submission is truly behind the best, whichever that is: multiple comparisons with the best."""

import numpy as np
from numpy.typing import NDArray

from anyshot_scoring.errors import ScoringError
from anyshot_scoring.reliability.paired import Interval, expansion
from anyshot_scoring.undefined import Undefined

FEWEST_UNITS = 6


def behind_best(
    scores: NDArray[np.float64],
    replicates: NDArray[np.float64],
    place: int,
    units: int,
    confidence: float = 0.95,
) -> Interval | Undefined:
    """An interval of the best true score less that of submission `place`; 0 or more, on the scale of the scores.

    `scores` `[S]`, bootstrap `replicates` `[B, S]` that rest on `units`. The leads of all others over it are bounded at
    once, by the maximum of the studentised differences (Hsu 1981, *Simultaneous Confidence Intervals for All Distances
    from the "Best"*); so it holds although the best was picked by these very scores. Undefined below six units.
    """
    if replicates.ndim != 2 or replicates.shape[1] != len(scores) or len(replicates) < 2:
        raise ScoringError(f"The replicates are {replicates.shape}, expected [2 or more, {len(scores)}].")
    if units < FEWEST_UNITS:
        return Undefined(
            f"{units} units do not tell how much others would differ: at least {FEWEST_UNITS} are needed"
        )
    others = np.delete(np.arange(len(scores)), place)
    if not len(others):
        return Undefined("a single submission has nothing to be compared with")
    leads = scores[others] - scores[place]
    drawn = replicates[:, others] - replicates[:, [place]]
    spread = drawn.std(axis=0, ddof=1)
    spread[spread < 1e-12] = 0.0
    errors = np.abs(drawn - leads)
    most = np.divide(errors, spread, out=np.zeros_like(errors), where=spread > 0).max(axis=1)
    reach = float(np.quantile(most, confidence)) * expansion(units, confidence) * spread
    low, high = max(0.0, float((leads - reach).max())), max(0.0, float((leads + reach).max()))
    return Interval(low, high, confidence, units)
