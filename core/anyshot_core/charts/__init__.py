"""Charts that are drawn once, in Python: of reports on analyses, of the papers' figures and in exports.

Each function returns a `Chart`: inline SVG in `currentColor`, which follows the light or dark page around it, with
a title and a text alternative. The same input gives the same bytes.
"""

from anyshot_core.charts.bars import Bar, draw_bars, draw_difficulty
from anyshot_core.charts.canvas import Chart
from anyshot_core.charts.chart_data import UnknownChart, redraw
from anyshot_core.charts.critical import draw_critical_difference
from anyshot_core.charts.curves import draw_curves
from anyshot_core.charts.distributions import draw_distributions, draw_heat_map
from anyshot_core.charts.ranks import RankBar, draw_rank_intervals
from anyshot_core.charts.reliability import ReliabilityBin, draw_reliability

__all__ = [
    "Bar",
    "Chart",
    "RankBar",
    "ReliabilityBin",
    "UnknownChart",
    "draw_bars",
    "draw_critical_difference",
    "draw_curves",
    "draw_difficulty",
    "draw_distributions",
    "draw_heat_map",
    "draw_rank_intervals",
    "draw_reliability",
    "redraw",
]
