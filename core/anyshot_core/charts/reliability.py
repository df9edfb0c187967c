"""Reliability diagrams: what was stated against what was true."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from anyshot_core.charts.canvas import Chart, clean, draw, empty, style
from anyshot_core.charts.chart_data import recorded


@dataclass(frozen=True)
class ReliabilityBin:
    """Probabilities stated in one range: their mean, the share that came true, its error, and how many `boards`."""

    stated: float
    true: float
    error: float
    boards: int


@recorded(series=lambda series: {n: [ReliabilityBin(**b) for b in bins] for n, bins in series.items()})
def draw_reliability(series: Mapping[str, Sequence[ReliabilityBin]], title: str) -> Chart:
    """One line a series, with bars of the bins' errors, beside the diagonal on which probabilities hold."""
    series = {name: bins for name, bins in series.items() if bins}
    words = " ".join(
        f"{name}: "
        + ", ".join(f"stated {b.stated:.2f}, true {b.true:.2f} ± {b.error:.2f}" for b in bins)
        + "."
        for name, bins in series.items()
    )
    description = (
        f"Stated probability against the share that is true. {words or 'There is nothing to draw yet.'}"
    )

    def paint(axes: Axes) -> None:
        if not series:
            return empty(axes)
        axes.plot([0, 1], [0, 1], color="grey", linewidth=1, label="holds")
        for i, (name, bins) in enumerate(series.items()):
            colour, marker, dashes = style(i)
            axes.errorbar(
                [b.stated for b in bins],
                [b.true for b in bins],
                yerr=[b.error for b in bins],
                color=colour,
                marker=marker,
                markersize=4,
                linestyle=dashes,
                elinewidth=0.8,
                capsize=2,
                label=clean(name),
            )
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.set_xlabel("Stated probability")
        axes.set_ylabel("Share that is true")
        axes.grid(axis="y")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return None

    return draw(title, description, paint, height=4.2)
