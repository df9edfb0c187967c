"""How far Kendall's tau-b of two rankings would go over other submissions."""

import numpy as np
from scipy import special

from anyshot_scoring.reliability.paired import Interval
from anyshot_scoring.undefined import Undefined

FEWEST = 8  # submissions, from which on the interval holds the true tau as often as it says


def tau_interval(tau: float | Undefined, submissions: int, confidence: float = 0.95) -> Interval | Undefined:
    """An interval of tau over other submissions like these (Fieller, Hartley and Pearson 1957).

    The inverse hyperbolic tangent of tau is about normal with variance 0.437 / (n - 4). Full agreement is taken for
    half a pair less, since no number of submissions makes it certain. Undefined below eight submissions.
    """
    if isinstance(tau, Undefined):
        return tau
    if submissions < FEWEST:
        return Undefined(
            f"{submissions} submissions do not tell how others would agree: at least {FEWEST} are needed"
        )
    most = 1 - 2 / (submissions * (submissions - 1))
    middle = np.arctanh(np.clip(tau, -most, most))
    reach = special.ndtri(0.5 + confidence / 2) * np.sqrt(0.437 / (submissions - 4))
    low, high = np.tanh(middle - reach), np.tanh(middle + reach)
    return Interval(float(min(low, tau)), float(max(high, tau)), confidence, submissions)
