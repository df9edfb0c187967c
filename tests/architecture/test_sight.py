"""Who sees what is decided in `anyshot_platform.judging.visibility`: nobody else reads the columns it is decided by."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2] / "platform" / "anyshot_platform"
# Columns of phases, submissions and competitions whose reading is a decision on what is shown.
COLUMNS = {
    "scores_visible",
    "tasks_visible",
    "log_policy",
    "hide_dataset_names",
    "show_confusion",
    "board_audience",
    "needs_publishing",
    "frozen_at",
    "withdrawn_at",
    "disqualified_at",
    "disqualified_reason",
    "code_published_at",
    "code_hidden_at",
}
# Columns that other tables have too, with the names under which a phase or a submission goes in the code.
SHARED = {"published_at": {"phase", "Phase"}, "deleted_at": {"submission", "Submission", "s", "origin"}}
# Texts of failures, which may name hidden data, are read by what keeps them, and by pages of organizers and operators.
FAULTS = {"message", "detail", "progress_message"}
RUNS = {"run", "failed", "failure", "Run"}
MAY_READ_FAULTS = {
    "judging/visibility/faults.py",
    "judging/run_logs/watching.py",  # sees that a text changed, sends none
    "judging/execution/results.py",  # writes what a worker tells
    "contest/phases/actions/side_by_side.py",  # organizers compare versions
    "judging/reports/actions/announcing.py",  # runs of reports, told to the organizers who asked for them
    "site/reports/api.py",
    "site/submissions/results.py",
}
# What code can choose while it sees hidden images is shown in the steps of `anyshot_core.exits`.
CHOSEN = {"memory_peak_bytes", "cpu_seconds", "usage"}
MAY_READ_CHOSEN = {
    "judging/execution/kinds/rescoring.py",
    "site/submissions/smoke_answer.py",
    "site/submissions/timing.py",
}


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith("judging/visibility/"):
            yield name, ast.parse(path.read_text())


def _reads(module: ast.Module) -> Iterator[tuple[str, str, int]]:
    """What is read of what: the last name before the dot, the attribute, the line."""
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            base = node.value
            owner = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
            yield owner, node.attr, node.lineno


def test_only_sight_reads_what_decides_who_sees_what() -> None:
    found = [
        f"{name}:{line}: {owner}.{column}"
        for name, module in _modules()
        for owner, column, line in _reads(module)
        if column in COLUMNS or owner in SHARED.get(column, ())
    ]
    assert not found, "ask anyshot_platform.judging.visibility instead:\n" + "\n".join(found)


def test_templates_are_given_what_sight_says() -> None:
    words = "|".join(sorted(COLUMNS))
    pattern = re.compile(rf"\b(?:{words})\b|\bphase\.published_at\b|\b(?:s|submission)\.deleted_at\b")
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in sorted((ROOT / "templates").rglob("*.html"))
        for match in pattern.finditer(path.read_text())
    ]
    assert not found, "use the filters `standing` and `publication`:\n" + "\n".join(found)


def test_only_sight_reads_the_texts_of_failures() -> None:
    found = [
        f"{name}:{line}: {owner}.{column}"
        for name, module in _modules()
        if name not in MAY_READ_FAULTS
        for owner, column, line in _reads(module)
        if column in FAULTS and owner in RUNS
    ]
    assert not found, "ask Sight.fault or Sight.progress instead:\n" + "\n".join(found)


def test_only_sight_reads_what_a_run_used() -> None:
    found = [
        f"{name}:{line}: {owner}.{column}"
        for name, module in _modules()
        if name not in MAY_READ_CHOSEN
        for owner, column, line in _reads(module)
        if column in CHOSEN and owner in ("run", "used")
    ]
    found += [
        f"{path.relative_to(ROOT)}: hide_summary"
        for path in ROOT.rglob("*.py")
        if "hide_summary" in path.read_text() and path.parent.name != "visibility"
    ]
    assert not found, "ask Sight.used or Sight.summary instead:\n" + "\n".join(found)


def test_the_columns_exist() -> None:
    """A column that is renamed must be renamed here, or this test holds nothing."""
    models = "".join(path.read_text() for path in ROOT.rglob("models.py"))
    missing = [name for name in (*COLUMNS, *SHARED, *FAULTS) if f"    {name}: Mapped" not in models]
    assert not missing
