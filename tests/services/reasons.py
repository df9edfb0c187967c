"""What a run tells at its end: which tests took long, and why; a test skipped without a reason fails the run."""

from collections.abc import Iterator

import pytest

LONG = 20.0  # seconds


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Send along with each test's report why it may be slow."""
    for item in items:
        if (mark := item.get_closest_marker("slow")) is not None:
            item.user_properties.append(("slow", mark.args[0]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the tests that took over 20 s with their reasons."""
    long = [report for report in _reports(terminalreporter) if report.duration > LONG]
    if not long:
        return
    terminalreporter.section("tests over 20 s, and why")
    for report in sorted(long, key=lambda report: -report.duration):
        why = dict(report.user_properties).get("slow", "no reason named: make it quicker, or mark it `slow`")
        terminalreporter.write_line(f"{report.duration:6.0f} s {report.nodeid}: {why}")


def _reports(reporter: pytest.TerminalReporter) -> Iterator[pytest.TestReport]:
    for outcome in ("passed", "failed"):
        for report in reporter.stats.get(outcome, []):
            if isinstance(report, pytest.TestReport) and report.when == "call":
                yield report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run where a test was skipped without saying why."""
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if isinstance(reporter, pytest.TerminalReporter) else []
    silent = [report.nodeid for report in skipped if _reason(report) in ("", "unconditional skip")]
    if silent and isinstance(reporter, pytest.TerminalReporter):
        reporter.write_line(f"\nskipped without a reason: {', '.join(silent)}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    told = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    return told.removeprefix("Skipped").removeprefix(":").strip()
