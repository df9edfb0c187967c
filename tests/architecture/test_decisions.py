"""docs/developers/decisions.md names the home of every decision, and the test that holds it."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.coverage_gate import PAGE, files_in, read_rows
from tests.mutants.catalogue import read_mutants

ROOT = Path(__file__).parents[2]
SECTIONS = ["Rules", "Sight", "Entry", "Acts", "Wire", "Keys"]
AREAS = (
    "rules",
    "sight",
    "code",
    "boards",
    "entries",
    "gates",
    "finals",
    "leagues",
    "quota",
    "leases",
    "settlement",
)
# Each of these decides something, and a reader finds the one file that does.
HOMES = {
    "Rules": {"scoring/anyshot_scoring/rules.py", "scoring/anyshot_scoring/rankings.py"},
    "Sight": {
        f"platform/anyshot_platform/judging/visibility/{n}.py"
        for n in (
            "access",
            "phases",
            "submissions",
            "smoke",
            "standing",
            "published_code",
            "faults",
            "names",
            "logs",
            "pools",
            "people",
            "data",
        )
    },
    "Entry": {
        "platform/anyshot_platform/standings/entries/selection.py",
        "platform/anyshot_platform/standings/entries/entering.py",
        "platform/anyshot_platform/standings/entries/eligibility.py",
        "platform/anyshot_platform/contest/leagues/evidence.py",
        "platform/anyshot_platform/standings/leaderboards/frozen_board.py",
        "platform/anyshot_platform/judging/submissions/actions/withdrawing.py",
        "platform/anyshot_platform/judging/submissions/actions/handing_in.py",
        "platform/anyshot_platform/standings/baselines/actions/gates.py",
        "platform/anyshot_platform/standings/results/actions/finals.py",
    },
    "Queue": {
        "platform/anyshot_platform/judging/submissions/quota.py",
        "platform/anyshot_platform/judging/execution/settlement.py",
        "platform/anyshot_platform/judging/execution/leases.py",
    },
    "Acts": {"platform/anyshot_platform/actions/service.py"},
}


def test_the_page_has_a_section_for_each_kind_of_decision() -> None:
    headings = re.findall(r"^## (.+)$", PAGE.read_text(), flags=re.MULTILINE)
    assert [name for name in SECTIONS if name not in headings] == []


@pytest.mark.parametrize("section", HOMES)
def test_the_home_of_each_decision_of_a_section_is_named(section: str) -> None:
    text = PAGE.read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    assert HOMES[section] <= set(files_in(text))


def test_every_module_of_sight_is_named() -> None:
    folder = ROOT / "platform/anyshot_platform/judging/visibility"
    modules = {path.relative_to(ROOT).as_posix() for path in folder.glob("*.py")}
    assert modules - {"platform/anyshot_platform/judging/visibility/__init__.py"} <= HOMES["Sight"]


def test_every_mutant_is_of_a_file_that_the_page_or_a_caller_names() -> None:
    """A decision that has mutants has a home on the page: its area is one of these."""
    named = {name for row in read_rows() for name in files_in(row[1])}
    decided = {area: {m.file for m in read_mutants() if m.area == area} for area in AREAS}
    assert [area for area, files in decided.items() if not files & named] == []


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
        ("ranking_rule", {"contest/phases/description.py", "contest/phases/models.py"}),
        # What a row is ranked by is written and read by the boards alone; others take `BOARD_ORDER` and ranks.
        (
            "sort_value",
            {
                f"standings/leaderboards/{name}.py"
                for name in ("models", "reading", "rows", "service", "sorting")
            },
        ),
    ],
)
def test_nobody_decides_beside_the_ranking_rule(word: str, homes: set[str]) -> None:
    platform = ROOT / "platform/anyshot_platform"
    found = {str(path.relative_to(platform)) for path in platform.rglob("*.py") if word in path.read_text()}
    assert found == homes
