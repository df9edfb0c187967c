"""Coverage of scoring, of core and of the homes of decisions, by all tests that need no sandbox and no browser.

    python -m tests.coverage_gate [options of pytest]

Prints of each part which lines and branches nothing runs and the share of those that run, lines and branches counted
together, with that of the branches alone beside it. Ends with 1 where the share of both together is below `WANTED`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from coverage import Coverage

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/developers/decisions.md"
WANTED = 95.0  # percent of lines and branches together
MARKS = "not docker and not browser and not training and not slow"


def read_rows() -> list[list[str]]:
    """The cells of every decision: what is decided, its home, the tests that hold it."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in rows if row[0] not in ("decision", "---")]


def files_in(cell: str) -> list[str]:
    """The files that a cell names."""
    return re.findall(r"`([^`]+)`", cell)


def parts() -> dict[str, list[str]]:
    """What is measured, by the name of the part: patterns of files."""
    homes = {name for row in read_rows() for name in files_in(row[1])}
    return {
        "scoring": ["scoring/anyshot_scoring/*"],
        "core": ["core/anyshot_core/*"],
        "homes of decisions": sorted(homes),
    }


def share_of_branches(measured: Coverage, patterns: list[str]) -> float:
    """Percent of the branches in these files that were taken; 100 where they have none."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        measured.json_report(outfile=str(report), include=patterns)
        return json.loads(report.read_text())["totals"]["percent_branches_covered"]


def main(arguments: list[str]) -> int:
    """Run the tests, report each part."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "logical", "-m", MARKS, "--cov", "--cov-report="]
    ended = subprocess.run(
        [*command, *arguments],
        cwd=ROOT,
        env=os.environ | {"ANYSHOT_ROTATE": ""},
    )
    measured = Coverage(data_file=str(ROOT / ".coverage"), config_file=str(ROOT / "pyproject.toml"))
    measured.load()
    shares: dict[str, float] = {}
    branches: dict[str, float] = {}
    for part, patterns in parts().items():
        print(f"\n== {part}")
        files = [str(ROOT / pattern) for pattern in patterns]
        shares[part] = measured.report(include=files, show_missing=True, skip_covered=True)
        branches[part] = share_of_branches(measured, files)
    low = [f"{part}: {share:.1f} %" for part, share in shares.items() if share < WANTED]
    told = [f"{part} {share:.1f} % (branches alone {branches[part]:.1f} %)" for part, share in shares.items()]
    print(f"\nLines and branches together: {'; '.join(told)}")
    print(f"Below {WANTED:g} %: {', '.join(low)}" if low else f"All at {WANTED:g} % or above.")
    return ended.returncode or int(bool(low))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
