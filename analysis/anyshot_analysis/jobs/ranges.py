"""Intervals that end where the quantity does: no correlation is above 1, and no distance below 0."""

from dataclasses import replace

from anyshot_core.report.estimates import Estimate
from anyshot_scoring.undefined import Undefined


def held_within(estimate: Estimate, low: float, high: float = float("inf")) -> Estimate:
    """The estimate with its interval cut at `low` and `high`, between which the quantity lies by its definition."""
    if isinstance(estimate.interval, Undefined):
        return estimate
    ends = (min(max(end, low), high) for end in estimate.interval)
    return replace(estimate, interval=tuple(ends))
