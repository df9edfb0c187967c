"""The interface speaks every language that it offers: what is said is in the catalogue, and the catalogue is whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from babel.messages.catalog import Message

from anyshot_platform.kernel.language import FOLDER
from tests.architecture import catalogue

LANGUAGES = sorted(FOLDER.glob("*.po"))
# What a translation keeps: placeholders, tags, code, and the names of things that are typed.
_KEPT = re.compile(r"%\(\w+\)s|%%|</?[a-z][^>]*>|`[^`]+`|&\w+;")


def test_the_catalogue_is_what_the_sources_say() -> None:
    behind = [path.name for path, text in catalogue.written().items() if path.read_bytes() != text]
    assert behind == [], "run `make catalogue`, and translate what is new"


@pytest.mark.parametrize("path", LANGUAGES, ids=lambda path: path.stem)
def test_every_message_is_translated(path: Path) -> None:
    missing = [message.id for message in _messages(path) if not all(_said(message)) or message.fuzzy]
    assert missing == []


@pytest.mark.parametrize("path", LANGUAGES, ids=lambda path: path.stem)
def test_a_translation_keeps_placeholders_and_tags(path: Path) -> None:
    odd = []
    for message in _messages(path):
        asked = [message.id] if isinstance(message.id, str) else list(message.id)
        wanted = [sorted(_KEPT.findall(text)) for text in asked]
        odd += [said for said in _said(message) if said and sorted(_KEPT.findall(said)) not in wanted]
    assert odd == []


def _messages(path: Path) -> list[Message]:
    return [message for message in catalogue.catalogue(path) if message.id]


def _said(message: Message) -> list[str]:
    return [message.string] if isinstance(message.string, str) else list(message.string or ())
