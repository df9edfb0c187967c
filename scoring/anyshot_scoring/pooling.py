"""Groups with few tasks are pooled with their neighbours, so that a curve over them shows more than noise."""

import math
from collections.abc import Sequence
from typing import cast

from scipy import special

from anyshot_scoring.intervals import t_half_width
from anyshot_scoring.summary import Group


def pool_groups(groups: Sequence[Group], at_least: int = 5) -> tuple[Group, ...]:
    """Neighbours by their numeric keys joined until each group has `at_least` tasks.

    A joined group's key is the mean of its tasks' keys, with one decimal; its mean and 95 % half width are those of all
    its tasks together, worked out exactly from the parts (of one task, the half width stays undefined).
    """
    ordered = sorted(groups, key=lambda group: float(group.key))
    bins: list[list[Group]] = []
    for group in ordered:
        if bins and sum(one.tasks for one in bins[-1]) < at_least:
            bins[-1].append(group)
        else:
            bins.append([group])
    if len(bins) > 1 and sum(one.tasks for one in bins[-1]) < at_least:
        bins[-2:] = [bins[-2] + bins[-1]]
    return tuple(_join(parts) for parts in bins)


def _join(parts: Sequence[Group]) -> Group:
    if len(parts) == 1:
        return parts[0]
    tasks = sum(one.tasks for one in parts)
    mean = sum(one.tasks * one.mean for one in parts) / tasks
    squares = sum(_squares(one) + one.tasks * (one.mean - mean) ** 2 for one in parts)
    place = sum(one.tasks * float(one.key) for one in parts) / tasks
    half = t_half_width(math.sqrt(squares / (tasks - 1)), tasks) if tasks > 1 else None
    return Group(f"{place:.1f}", mean, half, tasks)


def _squares(group: Group) -> float:
    """The sum of squared deviations from the group's own mean, from its 95 % half width t s / sqrt(n)."""
    if group.tasks < 2 or group.half_width is None:
        return 0.0
    quantile = cast(float, special.stdtrit(group.tasks - 1, 0.975))
    deviation = group.half_width * math.sqrt(group.tasks) / quantile
    return (group.tasks - 1) * deviation**2
