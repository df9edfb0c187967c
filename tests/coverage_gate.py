"""Coverage of scoring, of core and of what decides in the platform, by all tests that need no sandbox and no browser.

    python -m tests.coverage_gate [options of pytest]

Prints of each part which lines and branches nothing runs, and the shares of those that run: lines and branches counted
together, and branches alone. Ends with 1 where one of the two is below `WANTED`.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from coverage import Coverage

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/developers/decisions.md"
WANTED = 95.0  # percent of lines and branches together, and of branches alone
MARKS = "not docker and not browser and not training and not slow"


def read_rows() -> list[list[str]]:
    """The cells of every decision: what is decided, its home, the tests that hold it."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in rows if row[0] not in ("decision", "---")]


def files_in(cell: str) -> list[str]:
    """The files that a cell names."""
    return re.findall(r"`([^`]+)`", cell)


def parts() -> dict[str, list[Path]]:
    """What is measured: the files of each part, by its name."""
    acts = ["platform/anyshot_platform/**/*acts.py"]
    patterns = {
        "scoring": ["scoring/anyshot_scoring/**/*.py"],
        "core": ["core/anyshot_core/**/*.py"],
        "homes of decisions": {name for row in read_rows() for name in files_in(row[1])},
        "acts of organizers and operators": acts,
    }
    return {part: sorted({path for one in own for path in ROOT.glob(one)}) for part, own in patterns.items()}


def measured_files() -> set[Path]:
    """Every file of a part."""
    return {path for own in parts().values() for path in own}


def left_out() -> list[str]:
    """Files of the packages that are of no part: following what runs in them would take most of the time."""
    return sorted(str(path) for path in set(ROOT.glob("*/anyshot_*/**/*.py")) - measured_files())


def write_settings(file: Path) -> Path:
    """What `pyproject.toml` says of coverage, and what is left out."""
    said = Coverage(config_file=str(ROOT / "pyproject.toml"))
    wanted = {"source_pkgs": said.get_option("run:source_pkgs"), "omit": left_out()}
    lists = [f"{name} =\n    " + "\n    ".join(cast("list[str]", values)) for name, values in wanted.items()]
    file.write_text("\n".join(["[run]", f"branch = {said.get_option('run:branch')}", *lists, ""]))
    return file


def share_of_branches(measured: Coverage, files: list[str]) -> float:
    """Percent of the branches in these files that were taken; 100 where they have none."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        measured.json_report(outfile=str(report), include=files)
        return json.loads(report.read_text())["totals"]["percent_branches_covered"]


def tell(shares: Mapping[str, Mapping[str, float]]) -> tuple[list[str], list[str]]:
    """A line a part with its shares, and each share that is too low."""
    told = [
        f"{part}: {', '.join(f'{share:.1f} % of {what}' for what, share in own.items())}"
        for part, own in shares.items()
    ]
    low = [
        f"{what} of {part} ({share:.1f} %)"
        for part, own in shares.items()
        for what, share in own.items()
        if share < WANTED
    ]
    return told, low


def main(arguments: list[str]) -> int:
    """Run the tests, report each part."""
    with tempfile.TemporaryDirectory() as folder:
        settings = write_settings(Path(folder, "coverage.ini"))
        command = [sys.executable, "-m", "pytest", "-q", "-n", "logical", "-m", MARKS]
        ended = subprocess.run(
            [*command, "--cov", "--cov-report=", f"--cov-config={settings}", *arguments],
            cwd=ROOT,
            env=os.environ | {"ANYSHOT_ROTATE": ""},
        )
    measured = Coverage(data_file=str(ROOT / ".coverage"), config_file=str(ROOT / "pyproject.toml"))
    measured.load()
    shares: dict[str, dict[str, float]] = {}
    for part, own in parts().items():
        print(f"\n== {part}")
        files = [str(path) for path in own]
        together = measured.report(include=files, show_missing=True, skip_covered=True)
        shares[part] = {
            "lines and branches": together,
            "branches alone": share_of_branches(measured, files),
        }
    told, low = tell(shares)
    print("\n" + "\n".join(told))
    print(f"Below {WANTED:g} %: {', '.join(low)}" if low else f"All at {WANTED:g} % or above.")
    return ended.returncode or int(bool(low))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
