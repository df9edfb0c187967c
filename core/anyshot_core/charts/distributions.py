"""Distributions of per-task scores, and matrices as heat maps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from anyshot_core.charts.bars import SCORE
from anyshot_core.charts.canvas import PALETTE, Chart, clean, draw, empty
from anyshot_core.charts.chart_data import recorded
from anyshot_core.charts.inline_svg import INK
from anyshot_core.words import decimal_words

_LEVELS = (5, 25, 50, 75, 95)
_FEW = 30  # tasks: fewer are dots, since a histogram of them would draw their noise


@dataclass(frozen=True)
class Spread:
    """What a row of `draw_spreads` shows of its values: quantiles by `_LEVELS`, and counts in bins, or few values."""

    tasks: int
    quantiles: Sequence[float]
    counts: Sequence[int]
    values: Sequence[float] = ()


def draw_distributions(
    series: Mapping[str, ArrayLike],
    title: str = "Scores over tasks",
    axis: str = SCORE,
    bins: int = 40,
    unit: str = "tasks",
) -> Chart:
    """A row a series, with the median and the middle half marked: a histogram of all values, or few as dots.

    `unit` is what has a value: tasks, pairs of tasks, draws.
    """
    finite = {name: _finite(values) for name, values in series.items()}
    rows = {name: values for name, values in finite.items() if values.size}
    if not rows:
        return draw_spreads({}, (), title, axis, unit)
    low, high = min(v.min() for v in rows.values()), max(v.max() for v in rows.values())
    edges = np.linspace(low, high if high > low else low + 1e-3, bins + 1)
    spreads = {name: _spread(values, edges) for name, values in rows.items()}
    return draw_spreads(spreads, edges.tolist(), title, axis, unit)


def _spread(values: NDArray[np.float64], edges: NDArray[np.float64]) -> Spread:
    few = tuple(values.tolist()) if values.size < _FEW else ()
    counts = () if few else tuple(np.histogram(values, edges)[0].tolist())
    return Spread(values.size, tuple(np.percentile(values, _LEVELS).tolist()), counts, few)


@recorded(spreads=lambda spreads: {name: Spread(**one) for name, one in spreads.items()})
def draw_spreads(
    spreads: Mapping[str, Spread], edges: Sequence[float], title: str, axis: str = SCORE, unit: str = "tasks"
) -> Chart:
    """`draw_distributions` from what it shows; counts are between the `edges`."""
    words = " ".join(f"{name}: {_quantile_words(spread, unit)}." for name, spread in spreads.items())
    description = f"Distribution of {axis.lower()} over {unit}. {words or 'There is nothing to draw yet.'}"

    def paint(axes: Axes) -> None:
        if not spreads:
            return empty(axes)
        for place, spread in enumerate(spreads.values()):
            _paint_ridge(axes, len(spreads) - 1 - place, spread, np.asarray(edges))
        axes.set_yticks(range(len(spreads)), [clean(name) for name in reversed(list(spreads))])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(-0.18, len(spreads))
        axes.set_xlabel(axis)
        axes.grid(axis="x")
        return None

    return draw(title, description, paint, height=max(1.8, 1.0 + 0.55 * len(spreads)))


@recorded()
def draw_heat_map(
    matrix: ArrayLike,
    labels: Sequence[str],
    title: str,
    meaning: str,
    *,
    low: float | None = None,
    high: float | None = None,
    columns: Sequence[str] | None = None,
) -> Chart:
    """`draw_cells` whose description names the lowest and the highest cell.

    `meaning` says in words what a cell is, such as "probability that the row is truly better than the column".
    """
    values = np.asarray(matrix, dtype=np.float64)
    across = list(labels if columns is None else columns)
    if values.shape != (len(labels), len(across)):
        raise ValueError(f"The matrix is {values.shape}, expected {(len(labels), len(across))}.")
    description = f"Each cell: {meaning}. {_extreme_words(values, labels, across)}"
    return draw_cells(values, labels, across, title, description, low=low, high=high)


def draw_cells(
    values: NDArray[np.float64],
    labels: Sequence[str],
    across: Sequence[str],
    title: str,
    description: str,
    *,
    low: float | None = None,
    high: float | None = None,
) -> Chart:
    """A matrix `[len(labels), len(across)]` with its numbers (up to 12 columns); NaN cells stay empty.

    `description` is what a reader who does not see the picture gets.
    """

    def paint(axes: Axes) -> None:
        if not np.isfinite(values).any():
            return empty(axes)
        _paint_cells(axes, values, low, high)
        short = [clean(name, 18) for name in across]
        axes.set_xticks(range(len(across)), short, rotation=45, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(labels)), [clean(name, 18) for name in labels])
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        return None

    return draw(title, description, paint, height=max(2.2, min(8.0, 1.4 + 0.36 * len(labels))))


def _paint_ridge(axes: Axes, base: float, spread: Spread, edges: NDArray[Any]) -> None:
    if spread.values:
        _paint_dots(axes, base, np.asarray(spread.values), edges)
    else:
        counts = np.asarray(spread.counts)
        heights = base + 0.82 * counts / counts.max()
        axes.stairs(heights, edges, baseline=base, fill=True, color=PALETTE[0], alpha=0.45)
        axes.stairs(heights, edges, baseline=base, color=PALETTE[0], linewidth=1.0)
    _, quarter, median, three, _ = spread.quantiles
    axes.plot([quarter, three], [base, base], color=INK, linewidth=3, solid_capstyle="butt")
    axes.plot([median], [base], color=INK, marker="|", markersize=14)


def _paint_dots(axes: Axes, base: float, values: NDArray[Any], edges: NDArray[Any]) -> None:
    """A dot a task, those of one bin above each other."""
    bins = np.clip(np.digitize(values, edges), 1, len(edges) - 1)
    above = [int((bins[:place] == own).sum()) for place, own in enumerate(bins)]
    heights = base + 0.12 + 0.7 * np.array(above) / max(6, *above, 1)
    axes.plot(values, heights, "o", color=PALETTE[0], markersize=3.5, alpha=0.75)


def _paint_cells(axes: Axes, values: NDArray[Any], low: float | None, high: float | None) -> None:
    """Opacity of one colour instead of a colour map, so that the chart suits light and dark pages."""
    floor = np.nanmin(values) if low is None else low
    ceiling = np.nanmax(values) if high is None else high
    strength = np.clip((values - floor) / (ceiling - floor if ceiling > floor else 1.0), 0.0, 1.0)
    numbers = values.shape[1] <= 12
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value):
            alpha = 0.06 + 0.6 * strength[i, j]
            axes.fill_between([j - 0.48, j + 0.48], i - 0.46, i + 0.46, color=PALETTE[0], alpha=alpha, lw=0)
            if numbers:
                axes.text(j, i, decimal_words(value, 2), ha="center", va="center", fontsize=8)
    axes.set_xlim(-0.5, values.shape[1] - 0.5)
    axes.set_ylim(values.shape[0] - 0.5, -0.5)


def _finite(values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64).ravel()
    return array[np.isfinite(array)]


def _quantile_words(spread: Spread, unit: str) -> str:
    parts = zip(_LEVELS, spread.quantiles, strict=True)
    return f"{spread.tasks:,} {unit}, " + ", ".join(
        f"{level} % below {decimal_words(value)}" for level, value in parts
    )


def _extreme_words(values: NDArray[Any], rows: Sequence[str], columns: Sequence[str]) -> str:
    if not np.isfinite(values).any():
        return "There is nothing to draw yet."
    i, j = divmod(int(np.nanargmin(values)), values.shape[1])
    k, m = divmod(int(np.nanargmax(values)), values.shape[1])
    lowest, highest = decimal_words(values[i, j]), decimal_words(values[k, m])
    return f"Lowest {lowest} ({rows[i]}, {columns[j]}), highest {highest} ({rows[k]}, {columns[m]})."
