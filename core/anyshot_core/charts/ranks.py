"""Intervals of ranks."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from anyshot_core.chances import chance_words
from anyshot_core.charts.canvas import PALETTE, Chart, clean, draw, empty
from anyshot_core.charts.chart_data import recorded


@dataclass(frozen=True)
class RankBar:
    """A submission's rank on the board and the interval of its true rank."""

    label: str
    rank: float
    low: float
    high: float
    first: float | None = None


@recorded(rows=lambda rows: [RankBar(**row) for row in rows])
def draw_rank_intervals(rows: Sequence[RankBar], title: str, population: str) -> Chart:
    """One line a submission from the lowest to the highest rank of its interval, with its rank on the board.

    `population` says over what the ranks vary, such as "other tasks of these datasets".
    """
    words = "; ".join(
        f"{row.label}: rank {row.rank:g}, {row.low:g} to {row.high:g}{_first(row)}" for row in rows
    )
    description = f"95 % intervals of ranks over {population}. {words or 'There is nothing to draw yet'}."

    def paint(axes: Axes) -> None:
        if not rows:
            return empty(axes)
        for place, row in enumerate(rows):
            axes.plot([row.low, row.high], [place, place], color=PALETTE[0], linewidth=5, alpha=0.4)
            axes.plot([row.low, row.high], [place, place], color=PALETTE[0], marker="|", linestyle="", ms=9)
            axes.plot([row.rank], [place], color=PALETTE[0], marker="o", markersize=6)
        axes.set_yticks(range(len(rows)), [clean(row.label) for row in rows])
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.set_xlim(0.5, max(row.high for row in rows) + 0.5)
        axes.set_xlabel("Rank")
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        return None

    return draw(title, description, paint, height=max(1.7, 1.0 + 0.3 * len(rows)))


def _first(row: RankBar) -> str:
    return "" if row.first is None else f", truly best with probability {chance_words(row.first)}"
