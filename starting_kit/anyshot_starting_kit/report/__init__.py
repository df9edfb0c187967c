"""The report of a run, as a page, as a section of a page and as text, from its summary and its per-task table."""

from anyshot_starting_kit.report.content import RunReport, build_report
from anyshot_starting_kit.report.pages import (
    render_page,
    render_section,
    report_html,
    report_section,
    section_of,
)
from anyshot_starting_kit.report.reliability import reliability_html, reliability_section
from anyshot_starting_kit.report.text import report_text

__all__ = [
    "RunReport",
    "build_report",
    "reliability_html",
    "reliability_section",
    "render_page",
    "render_section",
    "report_html",
    "report_section",
    "report_text",
    "section_of",
]
