"""What core and starting kit say in English, found again in its text and said in the reader's language.

The checks of a zip and what stops a run come from programs without a catalogue, over the wire and from the database.
Their sentences are in the catalogue (`anyshot_core.words.told`): a text that has the form of one is that sentence, with
what stands at its placeholders as values.
"""

from __future__ import annotations

import re
from functools import cache

from anyshot_platform.kernel.language import Said, told_words, words_of

_LONGEST = 1_000  # characters of a line; what is longer stays English
_MOST_STOPS = 20
_PLACEHOLDER = re.compile(r"%\((\w+)\)s")


class Retold(Said):
    """A text of core: English as a string, the reader's language in HTML."""

    def in_language(self, language: str) -> str:
        """The text line by line; a line that no sentence has the form of stays."""
        return "\n".join(_line(line, language) for line in str(self).split("\n"))


def retold(text: str) -> Said:
    """A text of core, which says itself in the language of its reader; a sentence of the interface is one already."""
    if isinstance(text, Said):
        return text
    made = Retold(text)
    made.message, made.many, made.number, made.values = "", "", 0, {}
    return made


def words_of_core(error: Exception) -> Said:
    """What an error of core says, in the language of its reader."""
    return retold(words_of(error))


def _line(line: str, language: str) -> str:
    """Two sentences as they stand in a refusal, what is wrong and what to do, or one; what is wrong may be code's."""
    advised = None
    for stop in list(re.finditer(r"(?<=\.) ", line[:_LONGEST]))[:_MOST_STOPS]:
        remedy = _sentence(line[stop.end() :], language)
        problem = _sentence(line[: stop.start()], language) if remedy else None
        if problem:
            return f"{problem} {remedy}"
        advised = advised or (remedy and f"{line[: stop.start()]} {remedy}")
    return _sentence(line, language) or advised or line


def _sentence(text: str, language: str) -> str | None:
    for words, form, said in _forms(language) if len(text) <= _LONGEST else ():
        found = form.fullmatch(text) if words in text else None
        if found:
            values = {name: _sentence(value, language) or value for name, value in found.groupdict().items()}
            return said % values if values else said
    return None


@cache
def _forms(language: str) -> list[tuple[str, re.Pattern[str], str]]:
    """Each sentence: its longest words, as the form of its text, and its translation; those with most words first."""
    words = sorted(told_words(language).items(), key=lambda pair: -len(_PLACEHOLDER.sub("", pair[0])))
    return [(max(_PLACEHOLDER.split(one)[::2], key=len), _form(one), said) for one, said in words]


def _form(sentence: str) -> re.Pattern[str]:
    parts = _PLACEHOLDER.split(sentence)  # words and names by turns
    seen: set[str] = set()
    form = ""
    for place, part in enumerate(parts):
        form += re.escape(part) if place % 2 == 0 else f"(?P={part})" if part in seen else f"(?P<{part}>.+?)"
        seen |= {part} if place % 2 else set()
    return re.compile(form)
