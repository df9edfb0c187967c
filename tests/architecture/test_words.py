"""One notion, one word: the glossary has a home for each, and no second class bears its name."""

import ast
import re
import subprocess
from collections import defaultdict
from importlib import import_module
from importlib.util import find_spec

from tests.architecture.structure import ROOT, sources

GLOSSARY = (ROOT / "docs" / "developers" / "glossary.md").read_text()
HOMES = re.findall(r"^\| `(\w+)` \| .+ \| `([\w/]+\.py)` \|$", GLOSSARY, re.MULTILINE)


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


def test_what_texts_import_is_there() -> None:
    """A class that gets another name takes along the notebook, the archive's script and the documentation."""
    listed = subprocess.run(
        ["git", "ls-files", "*.txt", "*.md", "*.ipynb"], cwd=ROOT, capture_output=True, text=True
    )
    imports = re.compile(
        r"from (anyshot_(?:core|scoring|starting_kit|platform|worker|analysis)[\w.]*) import ([\w, ]+)"
    )
    found = {
        (name, module, word.strip().partition(" as ")[0])
        for name in listed.stdout.split()
        for module, words in imports.findall((ROOT / name).read_text())
        for word in words.split(",")
    }
    assert len(found) > 20
    missing = [one for one in sorted(found) if not _holds(one[1], one[2])]
    assert not missing, "these texts import what is not there"


def _holds(module: str, word: str) -> bool:
    if hasattr(import_module(module), word):
        return True
    return find_spec(f"{module}.{word}") is not None
