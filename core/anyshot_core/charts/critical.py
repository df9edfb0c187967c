"""The critical-difference diagram of average ranks over datasets (Demsar 2006)."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from anyshot_core.charts.canvas import PALETTE, Chart, clean, draw, empty
from anyshot_core.charts.chart_data import recorded


@recorded()
def draw_critical_difference(
    labels: Sequence[str],
    ranks: Sequence[float],
    groups: Sequence[Sequence[int]],
    difference: float,
    title: str,
) -> Chart:
    """Average ranks, best above; a bar joins the submissions of each group, which differ by less than `difference`.

    `groups` hold positions in `labels`.
    """
    order = sorted(range(len(ranks)), key=lambda i: ranks[i])
    words = ", ".join(f"{labels[i]} {ranks[i]:.2f}" for i in order)
    joined = "; ".join(", ".join(labels[i] for i in group) for group in groups)
    description = (
        f"Average ranks over datasets: {words or 'none yet'}. Critical difference {difference:.2f}. "
        f"Not told apart: {joined or 'none'}."
    )

    def paint(axes: Axes) -> None:
        if not labels:
            return empty(axes)
        place = {i: row for row, i in enumerate(order)}
        axes.plot([ranks[i] for i in order], range(len(order)), color=PALETTE[0], marker="o", linestyle="")
        right = max(ranks) + 0.3
        for column, group in enumerate(groups):
            rows, x = [place[i] for i in group], right + 0.18 * column
            axes.plot([x, x], [min(rows) - 0.2, max(rows) + 0.2], color=PALETTE[1], linewidth=4)
        low = min(ranks)
        axes.plot([low, low + difference], [-1, -1], color=PALETTE[2], marker="|", linewidth=2)
        axes.text(
            low + difference / 2, -1.25, f"critical difference {difference:.2f}", ha="center", fontsize=8
        )
        axes.set_yticks(range(len(order)), [clean(labels[i]) for i in order])
        axes.set_ylim(len(order) - 0.5, -2)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("Average rank over datasets")
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        return None

    return draw(title, description, paint, height=max(2.0, 1.3 + 0.3 * len(labels)))
