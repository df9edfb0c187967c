"""The report of a run as HTML: one file, with what draws its charts inside it."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from anyshot_core import browser_charts
from anyshot_core.browser_charts.numbers import MOST_DOTS
from anyshot_core.charts import Chart
from anyshot_core.report.content import RunReport, build_report
from anyshot_core.words import decimal_words
from anyshot_scoring.summary import RunSummary
from anyshot_scoring.table import TaskTable

_NOTHING = Markup("")


def report_html(
    summary: RunSummary, table: TaskTable, meta: Mapping[str, Any], *, single_tasks: bool = True
) -> str:
    """The report as one file without links to anything outside it; as `build_report`."""
    return render_page(build_report(summary, table, meta, single_tasks=single_tasks))


def render_page(report: RunReport, more: Markup = _NOTHING) -> str:
    """`report_html` from a report that was built before, with more sections below its own."""
    body = Markup(templates().get_template("run.html").render(report=report, most_dots=MOST_DOTS))
    return _page(report.title, body + more, browser_charts.styles(), browser_charts.script())


def wrap_page(title: str, body: Markup) -> str:
    """A page around sections, with the styles inside it and no script."""
    return _page(title, body)


def _page(title: str, body: Markup, styles: Markup = _NOTHING, script: Markup = _NOTHING) -> str:
    return templates().get_template("page.html").render(title=title, body=body, styles=styles, script=script)


def section_of(page: str) -> Markup:
    """The sections that `wrap_page` put into a page, for showing them inside another one."""
    body = page.partition("</h1>")[2].rpartition("</main>")[0]
    return Markup(body.strip())


def figure(chart: Chart) -> Markup:
    """A chart with its caption."""
    # The SVG is our own: every text in it was escaped when it was made.
    return Markup(
        '<figure><div class="scroll" tabindex="0" role="region" aria-label="{}">{}</div>'
        "<figcaption>{}</figcaption></figure>"
    ).format(chart.title, Markup(chart.svg), chart.title)


@cache
def templates() -> Environment:
    """The templates of all reports."""
    environment = Environment(
        loader=PackageLoader("anyshot_core.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["score"] = score_words
    environment.filters["half"] = half_words
    environment.filters["places"] = place_words
    return environment


def score_words(value: float | None) -> str:
    """Three decimals, or that the value is undefined."""
    return "undefined" if value is None else place_words(value)


def place_words(value: float, places: int = 3) -> str:
    """So many decimals; what they round to 0 has no sign."""
    return decimal_words(value, places)


def half_words(value: float | None) -> str:
    """The half width of an interval; equal values show no spread, which is no certainty."""
    if value is None or value == 0:
        return "undefined" if value is None else "all equal"
    return f"± {value:.3f}"
