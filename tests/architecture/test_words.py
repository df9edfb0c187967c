"""One notion, one word: the glossary has a home for each, no second class bears its name, what is gone stays away."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

import pytest

from tests.architecture.structure import PROJECTS, ROOT, sources

GLOSSARY = (ROOT / "docs" / "developers" / "glossary.md").read_text()
HOMES = re.findall(r"^\| `(\w+)` \| .+ \| `([\w/]+\.py)` \|$", GLOSSARY, re.MULTILINE)
GONE = [
    word
    for row in GLOSSARY.partition("| not | but |")[2].splitlines()[2:]
    for word in re.findall(r"`(\w+)`", row.split("|")[1])
]
# Where a word that is gone is still read: of requests of the releases before.
STILL_READ = {"platform/anyshot_platform/site/entries/organizer_api.py"}


def classes() -> dict[str, list[str]]:
    """Name of each public class of the packages -> the files that define one."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sources():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(path.relative_to(ROOT)))
    return found


def test_each_word_of_the_glossary_has_one_home() -> None:
    found = classes()
    assert len(HOMES) > 15
    for word, home in HOMES:
        if word == "Assignment":  # a union
            assert f"\n{word} = " in (ROOT / home).read_text()
        else:
            assert found[word] == [home]


def test_no_more_names_than_now_mean_two_things() -> None:
    assert sum(len(homes) > 1 for homes in classes().values()) <= 33


@pytest.mark.parametrize("word", GONE)
def test_a_word_that_is_gone_stays_away(word: str) -> None:
    whole = re.compile(rf"\b{word}\b")
    found = [str(path.relative_to(ROOT)) for path in sources(*PROJECTS) if whole.search(path.read_text())]
    assert set(found) <= STILL_READ
