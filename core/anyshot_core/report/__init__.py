"""The report of a run, as a page and as text, from its summary and its per-task table."""

from anyshot_core.report.content import RunReport, build_report
from anyshot_core.report.curves import TimeCurve, curves_section
from anyshot_core.report.evaluations import evaluations_section
from anyshot_core.report.pages import (
    render_page,
    report_html,
    section_of,
    wrap_page,
)
from anyshot_core.report.reliability import reliability_html, reliability_section
from anyshot_core.report.text import report_text

__all__ = [
    "RunReport",
    "TimeCurve",
    "build_report",
    "curves_section",
    "evaluations_section",
    "reliability_html",
    "reliability_section",
    "render_page",
    "report_html",
    "report_text",
    "section_of",
    "wrap_page",
]
