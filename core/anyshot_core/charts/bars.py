"""Bars with intervals, and the difficulty of datasets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from anyshot_core.charts.canvas import PALETTE, Chart, clean, draw, empty, interval_words, subject
from anyshot_core.charts.chart_data import recorded
from anyshot_core.charts.inline_svg import INK
from anyshot_scoring.difficulty import Difficulty
from anyshot_scoring.summary import Group

SCORE = "Normalized accuracy"


@dataclass(frozen=True)
class Bar:
    """One bar: a value and the half width of its interval, None if undefined."""

    label: str
    value: float
    half_width: float | None = None


def _read_bars(rows: list[dict[str, Any]]) -> list[Bar | Group]:
    return [Bar(**row) if "label" in row else Group(**row) for row in rows]


@recorded(rows=_read_bars)
def draw_bars(
    rows: Sequence[Bar | Group],
    title: str,
    axis: str = SCORE,
    *,
    intervals: bool = True,
    chance: Mapping[str, Sequence[float]] | None = None,
) -> Chart:
    """Horizontal bars with their `intervals`, where they have some, the first row on top.

    `chance` has the level of chance of bars by label, from low to high: marked across the bar.
    """
    levels = chance or {}
    bars = [row if isinstance(row, Bar) else Bar(str(row.key), row.mean, row.half_width) for row in rows]
    words = "; ".join(
        f"{bar.label}: {interval_words(bar.value, bar.half_width, intervals)}{_chance_words(levels.get(bar.label))}"
        for bar in bars
    )
    description = f"{subject(axis, intervals)} {words}." if bars else "There is nothing to draw yet."

    def paint(axes: Axes) -> None:
        if not bars:
            return empty(axes)
        places, values = np.arange(len(bars)), np.array([bar.value for bar in bars])
        axes.barh(places, values, height=0.62, color=PALETTE[0], alpha=0.85)
        for place, bar in enumerate(bars):
            _paint_interval(axes, place, bar)
            if bar.label in levels:
                _paint_chance(axes, place, levels[bar.label])
        if levels:
            axes.fill([], [], color=PALETTE[1], alpha=0.6, label="chance")
            axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0))
        axes.set_yticks(places, [clean(bar.label) for bar in bars])
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        axes.set_xlabel(axis)
        _set_score_limits(axes, bars, max((ends[1] for ends in levels.values()), default=0.0))
        return None

    return draw(title, description, paint, height=max(1.6, 0.8 + 0.34 * len(bars)))


@recorded(rows=lambda rows: [Difficulty(**row) for row in rows])
def draw_difficulty(
    rows: Sequence[Difficulty],
    title: str = "Difficulty of the datasets",
    axis: str = "Difficulty",
    who: str = "entry",
) -> Chart:
    """Intrinsic and modelling difficulty of each dataset, one above the other, hardest dataset on top.

    With their 95 % intervals where these are known. `who` is what was compared: an entry of a board, or a baseline.
    """
    ordered = sorted(rows, key=lambda row: (-row.intrinsic, row.dataset))
    words = "; ".join(
        f"{row.dataset}: intrinsic {row.intrinsic:.3f}{_give_or_take(row.intrinsic_half)}, "
        f"modelling {row.modelling:.3f}{_give_or_take(row.modelling_half)}"
        for row in ordered
    )
    description = (
        f"Intrinsic difficulty is what the best {who} lacks of the full score, modelling difficulty is the best minus "
        f"the worst {who}. {words or 'There is nothing to draw yet'}."
    )

    def paint(axes: Axes) -> None:
        if not ordered:
            return empty(axes)
        places = np.arange(len(ordered))
        series = (
            (
                f"Intrinsic (full score - best {who})",
                [(row.intrinsic, row.intrinsic_half) for row in ordered],
                -0.19,
                None,
            ),
            (
                f"Modelling (best - worst {who})",
                [(row.modelling, row.modelling_half) for row in ordered],
                0.19,
                "////",
            ),
        )
        for i, (label, values, shift, hatch) in enumerate(series):
            lengths = [value for value, _ in values]
            bars = axes.barh(places + shift, lengths, height=0.36, color=PALETTE[i], label=label, hatch=hatch)
            for place, (value, half) in zip(places + shift, values, strict=True):
                if half:
                    axes.errorbar(value, place, xerr=half, color=INK, capsize=3, linewidth=1.2)
            for patch in bars:
                patch.set_edgecolor(PALETTE[i])
                patch.set_alpha(0.85 if hatch is None else 0.6)
        axes.set_yticks(places, [clean(row.dataset) for row in ordered])
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        axes.set_xlabel(axis)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
        return None

    return draw(title, description, paint, height=max(2.0, 1.3 + 0.42 * len(ordered)))


def _chance_words(level: Sequence[float] | None) -> str:
    if level is None:
        return ""
    low, high = (interval_words(end, None, intervals=False) for end in level)
    return f", at chance {low}" if low == high else f", at chance {low} to {high}"


def _paint_chance(axes: Axes, place: float, level: Sequence[float]) -> None:
    """Where the bar would end by chance: a band across its row, or a line where the level is one number."""
    low, high = level
    axes.fill_betweenx([place - 0.42, place + 0.42], low, high, color=PALETTE[1], alpha=0.6, linewidth=2.5)


def _give_or_take(half: float | None) -> str:
    return f" ± {half:.3f}" if half else ""


def _paint_interval(axes: Axes, place: float, bar: Bar) -> None:
    end = bar.value
    if bar.half_width:  # 0: all tasks are equal, which is no interval
        axes.errorbar(bar.value, place, xerr=bar.half_width, color=INK, capsize=3, linewidth=1.2)
        end += bar.half_width
    axes.annotate(
        interval_words(bar.value, None, intervals=False),
        (max(end, 0.0), place),
        (5, 0),
        textcoords="offset points",
        va="center",
    )


def _set_score_limits(axes: Axes, bars: Sequence[Bar], least: float = 0.0) -> None:
    """From 0, or below it where a score is worse than chance, to `least` or further, with room for the numbers."""
    halves = [bar.half_width or 0.0 for bar in bars]
    low = min(0.0, *(bar.value - half for bar, half in zip(bars, halves, strict=True)))
    high = max(0.05, least, *(bar.value + half for bar, half in zip(bars, halves, strict=True)))
    room = high - low
    axes.set_xlim(low - (0.03 * room if low < 0 else 0.0), high + 0.12 * room)
    axes.axvline(0.0, color=INK, linewidth=0.8)
