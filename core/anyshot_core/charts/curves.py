"""Curves with intervals over ways and shots: bands of one or two curves, bars side by side of more."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, Locator, MaxNLocator

from anyshot_core.charts.bars import SCORE
from anyshot_core.charts.canvas import Chart, clean, draw, empty, interval_words, style, subject
from anyshot_core.charts.chart_data import recorded
from anyshot_scoring.summary import Group

_MOST_BANDS = 2  # more that overlap cannot be told apart
_MOST_APART = 0.012  # of the range of x, between bars at one place
_MOST_TICKS = 20  # in a row
_ROOM = 0.75  # of the way to the next place, for all bars at one
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
    """One curve with its 95 % intervals for each series; the groups' keys are numbers, `whole` or not.

    Of more than two series the intervals are bars, and the curves stand side by side, a little apart, so
    that each bar can be seen. Without `intervals` the values are exact or drawn as points alone, and none is missed.
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
        bars, moved = _has_bars(list(series.values())), _side_by_side(list(series.values()))
        for i, (name, groups) in enumerate(series.items()):
            _paint_curve(axes, i, name, groups, moved[i], bars)
        axes.xaxis.set_major_locator(_ticks(list(series.values()), whole))
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


def _side_by_side(series: Sequence[Sequence[Group]]) -> list[float]:
    """By how much of x each curve is moved, so that no bar hides another; nothing where there are no bars."""
    count = len(series)
    if not _has_bars(series):
        return [0.0] * count
    _, gap, span = _keys(series)
    apart = min(_MOST_APART * span, _ROOM * gap / count)
    return [apart * (i - (count - 1) / 2) for i in range(count)]


def _ticks(series: Sequence[Sequence[Group]], whole: bool) -> Locator:
    """Where moved curves, and those over shares, have values, if there is room for the numbers: no share is above 1."""
    keys, gap, span = _keys(series)
    if (_has_bars(series) or not whole) and span <= _MOST_TICKS * gap:
        return FixedLocator(keys)
    return MaxNLocator(integer=whole)


def _keys(series: Sequence[Sequence[Group]]) -> tuple[list[float], float, float]:
    """All places in order, the least way from one to the next, and the way from the first to the last; 1 for one."""
    keys = np.unique([float(g.key) for groups in series for g in groups])
    if len(keys) < 2:
        return keys.tolist(), 1.0, 1.0
    return keys.tolist(), float(np.diff(keys).min()), float(np.ptp(keys))


def _has_bars(series: Sequence[Sequence[Group]]) -> bool:
    return len(series) > _MOST_BANDS and any(g.half_width for groups in series for g in groups)


def _paint_curve(axes: Axes, i: int, name: str, groups: Sequence[Group], moved: float, bars: bool) -> None:
    ordered = sorted(groups, key=lambda g: float(g.key))
    x, y = [float(g.key) + moved for g in ordered], [g.mean for g in ordered]
    half = [g.half_width or np.nan for g in ordered]  # undefined: no band there
    colour, marker, dashes = style(i)
    axes.plot(x, y, color=colour, marker=marker, markersize=4, linestyle=dashes, label=_legend(name))
    low = [m - h for m, h in zip(y, half, strict=True)]
    high = [m + h for m, h in zip(y, half, strict=True)]
    if bars:
        axes.vlines(x, low, high, color=colour, linewidth=1)
    else:
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


def _legend(name: str) -> str:
    """A name that matplotlib does not drop from the legend: it hides those that start with an underscore."""
    return "\u200b" + clean(name) if name.startswith("_") else clean(name)
