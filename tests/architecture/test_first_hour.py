"""docs/developers/first-hour.md names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/developers/first-hour.md").read_text()
ROWS = [line.split("|")[1:3] for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line][1:]


@pytest.mark.parametrize(("met", "held"), ROWS, ids=[met.strip()[:50] for met, _ in ROWS])
def test_each_line_names_a_test_that_is_there(met: str, held: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", held)
    assert named, f"nothing holds “{met.strip()}”"
    missing = [f"{file}::{name}" for file, name in named if f"def {name}(" not in (ROOT / file).read_text()]
    assert not missing


def test_the_table_has_every_line_of_the_list() -> None:
    assert len(ROWS) >= 43
