"""Curves with bands over ways and shots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from anyshot_core.charts.bars import SCORE
from anyshot_core.charts.canvas import Chart, clean, draw, empty, interval_words, style, subject
from anyshot_core.charts.recorded import recorded
from anyshot_scoring.summary import Group

_BAND_ROOM = 0.25  # how far above and below all means bands are shown


@recorded(series=lambda series: {n: [Group(**g) for g in groups] for n, groups in series.items()})
def draw_curves(
    series: Mapping[str, Sequence[Group]],
    title: str,
    x: str,
    axis: str = SCORE,
    *,
    whole: bool = True,
    intervals: bool = True,
) -> Chart:
    """One curve with its band of 95 % intervals for each series; the groups' keys are numbers, `whole` or not.

    Without `intervals` the values are exact or drawn as points alone, and no band is missed.
    """
    series = {name: groups for name, groups in series.items() if groups}
    words = " ".join(
        f"{name}: "
        + ", ".join(f"{x} {g.key}: {interval_words(g.mean, g.half_width, intervals)}" for g in groups)
        + "."
        for name, groups in series.items()
    )
    description = f"{subject(f'{axis} by {x}', intervals)} {words or 'There is nothing to draw yet.'}"

    def paint(axes: Axes) -> None:
        if not series:
            return empty(axes)
        for i, (name, groups) in enumerate(series.items()):
            _paint_curve(axes, i, name, groups)
        axes.xaxis.set_major_locator(MaxNLocator(integer=whole))
        axes.set_xlabel(x.capitalize())
        axes.set_ylabel(axis)
        axes.grid(axis="y")
        if axis == SCORE:
            _set_score_limits(axes, [g for groups in series.values() for g in groups])
        if len(series) > 1:
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return None

    return draw(title, description, paint, height=_height(len(series)))


def _height(entries: int) -> float:
    """Inches that hold a legend of so many entries."""
    return max(3.4, 0.5 + 0.23 * entries)


def _set_score_limits(axes: Axes, groups: Sequence[Group]) -> None:
    """Around the means, within -1 (2 ways, all wrong) and 1; bands that are wide are cut off."""
    means, half = np.array([g.mean for g in groups]), np.array([g.half_width or 0.0 for g in groups])
    low = max((means - half).min(), means.min() - _BAND_ROOM, -1.0)
    high = min((means + half).max(), means.max() + _BAND_ROOM, 1.0)
    axes.set_ylim(low - 0.03, max(high, low + 0.05) + 0.03)


def _paint_curve(axes: Axes, i: int, name: str, groups: Sequence[Group]) -> None:
    ordered = sorted(groups, key=lambda g: float(g.key))
    x, y = [float(g.key) for g in ordered], [g.mean for g in ordered]
    half = [np.nan if g.half_width is None else g.half_width for g in ordered]  # undefined: no band there
    colour, marker, dashes = style(i)
    axes.plot(x, y, color=colour, marker=marker, markersize=4, linestyle=dashes, label=_legend(name))
    low = [m - h for m, h in zip(y, half, strict=True)]
    high = [m + h for m, h in zip(y, half, strict=True)]
    axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


def _legend(name: str) -> str:
    """A name that matplotlib does not drop from the legend: it hides those that start with an underscore."""
    return "\u200b" + clean(name) if name.startswith("_") else clean(name)
