"""docs/developers/decisions.md names the home of every decision, and the test that holds it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/developers/decisions.md"
SECTIONS = ["Rules", "Sight", "Entry", "Acts", "Wire", "Keys"]


def read_rows() -> list[list[str]]:
    """The cells of every decision: what is decided, its home, the tests that hold it."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in rows if row[0] not in ("decision", "---")]


def files_in(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_page_has_a_section_for_each_kind_of_decision() -> None:
    headings = re.findall(r"^## (.+)$", PAGE.read_text(), flags=re.MULTILINE)
    assert [name for name in SECTIONS if name not in headings] == []


@pytest.mark.parametrize("row", read_rows(), ids=lambda row: row[0])
def test_a_decision_has_one_home_and_tests_that_exist(row: list[str]) -> None:
    assert len(row) == 3, f"a decision, its home and its tests are wanted, not {row}"
    homes, tests = files_in(row[1]), files_in(row[2])
    assert len(homes) == 1, f"{row[0]}: one home is wanted, not {homes}"
    assert tests, f"{row[0]}: name the test that holds it"
    missing = [name for name in homes + tests if not (ROOT / name).is_file()]
    assert not missing, f"{row[0]}: there is no {', '.join(missing)}"
    assert all(Path(name).name.startswith("test_") for name in tests), f"{row[0]}: {tests} are not tests"


def test_no_decision_stands_there_twice() -> None:
    times = Counter(row[0].casefold() for row in read_rows())
    assert [name for name, count in times.items() if count > 1] == []


@pytest.mark.parametrize(
    ("word", "homes"),
    [
        # The name of a rule is stored and described; everybody else asks the rule itself, `PhaseVersion.rule`.
        ("ranking_rule", {"bundles/columns.py", "bundles/giving_out.py", "phases/models.py"}),
        # What a row is ranked by is written and read by the boards alone; others take `BOARD_ORDER` and ranks.
        (
            "sort_value",
            {f"leaderboards/{name}.py" for name in ("models", "reading", "rows", "service", "sorting")},
        ),
    ],
)
def test_nobody_decides_beside_the_ranking_rule(word: str, homes: set[str]) -> None:
    platform = ROOT / "platform/anyshot_platform"
    found = {str(path.relative_to(platform)) for path in platform.rglob("*.py") if word in path.read_text()}
    assert found == homes
