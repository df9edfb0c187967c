"""`python -m tests.hostile.table RECORD...`: the documentation's table from what a run of the suite recorded."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.hostile.elsewhere import ELSEWHERE, Elsewhere

TARGET = Path(__file__).parents[2] / "docs" / "operators" / "hostile-suite.md"
HEAD = """# What the hostile suite found

Every row is a submission in `tests/hostile` that attacks the sandbox, or whoever handles what comes out of it. It
passes when the run ends with the verdict that its `expected.toml` names, nothing of it is left on the machine, and an
honest submission after each three gets the same predictions as always. OK means that the attack was tried, was
refused, and the submission then answered well. Seconds are those after the start of the box. `make hostile` runs the
suite; this table is made from the record of its last run (`ANYSHOT_HOSTILE_RECORD=FILE make hostile`, then `python -m
tests.hostile.table FILE`). Under gVisor the kernel of a box counts against its memory and ends with it, so that a
bomb in a child ends the whole box.

Some numbers of the list are no submissions; other tests hold them:

| no. | attack | tests |
| --- | --- | --- |
"""


def make_table(records: list[dict[str, object]]) -> str:
    """Markdown, one table a sandbox."""
    parts = [HEAD, *(_elsewhere_row(item) for item in ELSEWHERE)]
    for sandbox in sorted({str(record["sandbox"]) for record in records}):
        latest = {str(record["folder"]): record for record in records if record["sandbox"] == sandbox}
        held = sum(_held(record) for record in latest.values())
        parts.append(f"\n## {sandbox}\n\n{held} of {len(latest)} as expected.\n\n")
        parts.append("| no. | attack | verdict | seconds | |\n| --- | --- | --- | --- | --- |\n")
        parts += [_row(latest[name]) for name in sorted(latest)]
    return "".join(parts)


def _elsewhere_row(item: Elsewhere) -> str:
    return f"| {item.number} | {item.attack} | {', '.join(f'`{test}`' for test in item.tests)} |\n"


def _held(record: dict[str, object]) -> bool:
    return record["verdict"] in record["expected"]  # type: ignore[operator]


def _row(record: dict[str, object]) -> str:
    mark = "as expected" if _held(record) else f"expected {record['expected']}"
    attack = str(record["attack"]).replace("|", "/")
    return f"| {record['number']} | {attack} | {record['verdict']} | {record['seconds']} | {mark} |\n"


if __name__ == "__main__":
    lines = [line for name in sys.argv[1:] for line in Path(name).read_text().splitlines()]
    TARGET.write_text(make_table([json.loads(line) for line in lines]))
