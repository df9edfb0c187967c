"""Keeps what the last run of the suite found, for the table in the documentation."""

import json
import os
from pathlib import Path

from tests.hostile.bench import Seen


def record_result(name: str, seen: Seen, sandbox: str) -> None:
    """Append one line of JSON to the file named by ANYSHOT_HOSTILE_RECORD; without it, keep nothing."""
    target = os.environ.get("ANYSHOT_HOSTILE_RECORD")
    if not target:
        return
    line = {
        "folder": name,
        "sandbox": sandbox,
        "verdict": str(seen.outcome.verdict),
        "seconds": round(seen.seconds, 1),
    }
    with Path(target).open("a") as file:
        file.write(json.dumps(line) + "\n")
