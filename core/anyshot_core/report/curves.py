"""How a run trained and what it used of its machine, over time, as a section of its report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from anyshot_core.report.pages import templates


@dataclass(frozen=True)
class TimeCurve:
    """A chart over time as numbers, as `browser_charts.numbers.chart_data` has them, and the same as a table."""

    title: str
    chart: Mapping[str, Any]
    columns: tuple[str, ...]
    rows: Sequence[tuple[object, ...]]
    note: str = ""


def curves_section(curves: Sequence[TimeCurve]) -> Markup:
    """All curves, one below the other; nothing where there are none."""
    return Markup(templates().get_template("curves.html").render(curves=curves))
