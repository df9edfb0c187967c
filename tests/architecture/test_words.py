"""One notion, one word: the glossary has a home for each, no second class bears its name, what is gone stays away."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from importlib import import_module
from importlib.util import find_spec

import pytest

from anyshot_platform.kernel.language import FOLDER
from tests.architecture.catalogue import catalogue
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


# The first release's sentences that stopped a reader, in the words that were peculiar to each, by who read it.
REWRITTEN = (
    "You take part now",
    "Make an account",
    "One account a person",
    "that is no prediction",
    "the failure was its own",
    "Keep things as they are",
    "its place is free for another",
    "Time of the budget",
    "Memory at most",
    "You see: output of",
    "of meta-testing only exception type",
    "can be honoured: none",
    "breaks the rules of the API",
    "Cannot be told apart from the row",
    "The ranking stays the rule's",
    "neither pick winners nor",
    "Paired on the tasks that both met",
    "could still turn it round",
    "what other datasets could show",
    "which tells much smaller",
    "Each ridge holds",
    "Means of neighbouring rows",
    "Make the token",
    "Which messages, and how",
    "Somebody answers in a thread",
    "Look into your mailbox",
    "That did not work",
    "Who has not joined",
    "is compared with none",
    # of organizers and operators (section 2 of their review)
    "Give it up",
    "Settings that differ decide",
    "Place then",
    "By hand",
    "Entries that somebody decides on",
    "Turn down",
    'Give it")',
    "10 seeds for a gate",
    "runs a baseline so often",
    "of it for meta-training",
    "of it for one task",
    "A failure of ours",
    "They count by their worst",
    "What you import or begin stands here",
    "Attempts that did not end well",
    '_("Has")',
    "Take it home",
    "Entries of leagues by approval or by rule stand here",
)


def test_a_sentence_that_stopped_readers_stays_away() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.html", "*.md", "*.js", "*.yaml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    texts = {
        name: " ".join((ROOT / name).read_text().split()) for name in listed.stdout.split() if _is_read(name)
    }
    found = [(name, old) for name, text in texts.items() for old in REWRITTEN if old in text]
    assert len(texts) > 1_000 and found == []


def _is_read(name: str) -> bool:
    return not name.startswith(("tests/", "CHANGELOG", "docs/decisions/")) and (ROOT / name).is_file()


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


# One verb an act, and sentences with subjects: what the catalogue says in other words. These are created, others start.
_CREATED = "token|pool|version|copy|copies|phase|competition|draft|account|league|report|certificate|webhook"
NOT_SAID = {
    r"\b[Ss]ign(s|ed)? (in|(them )?out)\b": "log in, log out",
    r"\b(is|are) wanted, found\b": "This must be ..., not ...",
    r"\b([Mm]ak(e|es|ing)|(?<!-)[Mm]ade|[Bb]eg(in|ins|un|an)) ((no more|an?|the|this|that|new|hidden|private|one) )*"
    rf"({_CREATED})s?\b(?! live| public)": "create",
    rf"\b({_CREATED})s?( of [^,.]+)? (is|are|was|were|has been) (made|begun)\b": "create",
    r"^Make one\b": "create",
    r"\b(is|are) no (picture|date|administrator|address that)\b": "is not a ..., cannot be ...",
    r"(?<!one )(?<!everyone )(?<!body )\bwho (has it|stands below|takes part is)\b": "anyone who, the team that",
    r"\bpersons? (takes?|does not take) part\b": "is (not) a participant",
    r"^Begin\b|\bBegin (again|with|it)\b": "start",
    r"\b(uploads?|rehearsals?|log-ins?|imports?|exports?) (has |have |was |were |was not )?begun\b": "start",
    r"\b[Bb]egins? (an? )?(upload|thread|rehearsal|log-in|import|export)": "start",
    r"\b[Tt]ak(e|es|ing) (away|organizing|administration|(the|a) second factor)\b": "remove",
}


@pytest.mark.parametrize("said", NOT_SAID)
def test_the_catalogue_has_one_verb_an_act(said: str) -> None:
    messages = [str(message.id) for message in catalogue(FOLDER / "messages.pot") if message.id]
    odd = [message for message in messages if re.search(said, message) and "in as" not in message]
    assert odd == [], f"say: {NOT_SAID[said]}"


_GUIDES = [
    path
    for part in ("participants", "organizers", "operators")
    for path in sorted((ROOT / "docs" / part).glob("*.md"))
]


@pytest.mark.parametrize("said", NOT_SAID)
def test_guides_and_the_help_of_commands_have_one_verb_an_act(said: str) -> None:
    """They are wrapped: a sentence is read over the ends of its lines."""
    texts = {path.name: " ".join(path.read_text().split()) for path in _GUIDES}
    odd = {name: found for name, text in texts.items() if (found := [m[0] for m in re.finditer(said, text)])}
    assert len(texts) > 20 and odd == {}, f"say: {NOT_SAID[said]}"
