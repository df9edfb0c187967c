"""The documentation's page on the hostile suite; `python -m tests.hostile.table RECORD...` keeps what a run recorded."""

import json
import sys
from collections import defaultdict
from pathlib import Path

from tests.hostile.cases import list_cases, read_expected
from tests.hostile.elsewhere import ELSEWHERE

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "hostile.json"
_HEAD = """# What the hostile suite found

Every row is a submission in `tests/hostile` that attacks the sandbox, or whoever handles what comes out of it. It
passes when the run ends with the verdict that its `expected.toml` names, nothing of it is left on the machine, and an
honest submission after each three gets the same predictions as always. OK means that the attack was tried, was
refused, and the submission then answered well. Seconds are those after the start of the box, of the last run that was
recorded: `ANYSHOT_HOSTILE_RECORD=FILE make hostile`, then `python -m tests.hostile.table FILE`. Under gVisor the kernel
of a box counts against its memory and ends with it, so that a bomb in a child ends the whole box.
"""
_BEHIND = "\nSome attacks are no submissions; other tests hold them:\n"


def hostile_page() -> str:
    """Markdown: a row for each attack, with what each sandbox made of it."""
    found: dict[str, dict[str, dict[str, object]]] = json.loads(RESULTS.read_text())
    parts = [_HEAD, f"| no. | attack | {' | '.join(found)} |", "| --- | --- |" + " --- |" * len(found)]
    for case in list_cases():
        expected = read_expected(case)
        cells = [str(expected.number), expected.attack.replace("|", "/")]
        for sandbox, rows in found.items():
            cells.append(_ended(rows.get(case.name), [*map(str, expected.under(sandbox).verdict)]))
        parts.append(f"| {' | '.join(cells)} |")
    parts += [_BEHIND, "| no. | attack | tests |\n| --- | --- | --- |"]
    parts += [f"| {one.number} | {one.attack} | {', '.join(f'`{t}`' for t in one.tests)} |" for one in ELSEWHERE]
    return "\n".join(parts) + "\n"


def _ended(row: dict[str, object] | None, expected: list[str]) -> str:
    if row is None:
        return "not recorded"
    wrong = "" if row["verdict"] in expected else f"; expected {' or '.join(expected)}"
    return f"{row['verdict']} after {row['seconds']} s{wrong}"


def keep(lines: list[str]) -> None:
    """Write verdict and seconds of each case of a record, by sandbox and folder."""
    found: dict[str, dict[str, object]] = defaultdict(dict)
    for row in map(json.loads, lines):
        found[row["sandbox"]][row["folder"]] = {"verdict": row["verdict"], "seconds": row["seconds"]}
    RESULTS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    keep([line for name in sys.argv[1:] for line in Path(name).read_text().splitlines()])
