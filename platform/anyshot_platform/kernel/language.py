"""The language of who reads: sentences that keep their English and say themselves in another language.

`say("Submission %(number)s is scored", number=7)` is an English string wherever a program reads it (JSON, rows of the
database, logs). In a page it becomes the reader's language when it is written into HTML. The translations of a
language are one file, `languages/CODE.po`; a message that it lacks is said in English.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import Any

from babel import Locale
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal
from markupsafe import Markup, escape

ENGLISH = "en"
FOLDER = Path(__file__).resolve().parent.parent / "languages"


@dataclass
class Reader:
    """Who reads the answer to a request; the language changes once it is known who that is."""

    language: str = ENGLISH


_reader: ContextVar[Reader | None] = ContextVar("reader", default=None)


def here() -> str:
    """The language of the page that is being made; English outside of one."""
    reader = _reader.get()
    return ENGLISH if reader is None else reader.language


@contextmanager
def read_by(reader: Reader) -> Iterator[None]:
    """Within, pages are made for this reader."""
    mark = _reader.set(reader)
    try:
        yield
    finally:
        _reader.reset(mark)


def read_in(language: str) -> None:
    """From here on the reader of this request reads that language."""
    reader = _reader.get()
    if reader is not None:
        reader.language = language


def known_languages() -> tuple[str, ...]:
    """The codes of all languages that there is a catalogue for, English first."""
    return (ENGLISH, *sorted(path.stem for path in FOLDER.glob("*.po")))


@cache
def name_of(language: str) -> str:
    """What speakers of a language call it: English, Français."""
    locale = Locale.parse(language, sep="-")
    name = locale.get_display_name(locale) or language
    return name[0].upper() + name[1:]


@cache
def script_words(language: str) -> dict[str, str]:
    """What scripts say, by its English."""
    return _words_of(language, "static/js/")


def _words_of(language: str, folder: str) -> dict[str, str]:
    """What the files of a folder say, by its English."""
    path = FOLDER / f"{language}.po"
    if language == ENGLISH or not path.is_file():
        return {}
    with path.open("rb") as file:
        found = read_po(file, locale=language)
    return {
        str(message.id): str(message.string)
        for message in found
        if any(place.startswith(folder) for place, _ in message.locations)
    }


@cache
def told_words(language: str) -> dict[str, str]:
    """What core and starting kit say (`anyshot_core.words.told`), by its English."""
    return _words_of(language, "anyshot_")


@cache
def translations(language: str) -> NullTranslations:
    """The catalogue of a language; English and languages without a file have an empty one."""
    path = FOLDER / f"{language}.po"
    if language == ENGLISH or not path.is_file():
        return NullTranslations()
    with path.open("rb") as file:
        catalogue = read_po(file, locale=language)
    packed = BytesIO()
    write_mo(packed, catalogue)
    packed.seek(0)
    return GNUTranslations(packed)


def gettext(message: str) -> str:
    """The message in the language of the page."""
    return translations(here()).gettext(message)


def ngettext(one: str, many: str, number: float) -> str:
    """The message for that number in the language of the page."""
    return plural(one, many, number, here())


def plural(one: str, many: str, number: float, language: str) -> str:
    """The form of a message for a number: in English one is singular and half a one plural; else as its whole part."""
    if language == ENGLISH:
        return one if number == 1 else many
    return translations(language).ngettext(one, many, int(number))


class Said(str):
    """A sentence of the interface: English as a string, the reader's language in HTML."""

    message: str
    many: str
    number: float
    values: dict[str, Any]

    def in_language(self, language: str) -> str:
        """The sentence in a language; sentences within it too."""
        if self.many:
            said = plural(self.message, self.many, self.number, language)
        else:
            said = translations(language).gettext(self.message)
        values = {name: said_in(value, language) for name, value in self.values.items()}
        return said % values if values else said

    def __html__(self) -> str:
        return escape(self.in_language(here()))


def say(message: str, /, **values: Any) -> Said:
    """A sentence with values for its placeholders `%(name)s`; without values, a percent sign is itself."""
    return _made(message, "", 0, values)


def words_of(error: Exception) -> str:
    """What an error says: where it was raised with a sentence of the interface, that one."""
    said = error.args[0] if error.args else ""
    return said if isinstance(said, Said) else str(error)


def say_count(number: float, one: str, many: str, /, **values: Any) -> Said:
    """A sentence about a number, which is its placeholder `%(num)s`: `1 task`, `3,000 tasks`."""
    return _made(one, many, number, {**values, "num": Amount(number)})


def _made(message: str, many: str, number: float, values: dict[str, Any]) -> Said:
    english = message if number == 1 or not many else many
    made = Said(english % values if values else english)
    made.message, made.many, made.number, made.values = message, many, number, values
    return made


class Amount(float):
    """A number that is written as its reader's language does: 3,000 or 3 000; 0.5 or 0,5; with so many decimals."""

    digits: int | None

    def __new__(cls, number: float, digits: int | None = None) -> Amount:
        """The number; without `digits` it has those that it needs."""
        made = super().__new__(cls, number)
        made.digits = digits
        return made

    def in_language(self, language: str) -> str:
        """The number in a language."""
        if language == ENGLISH and self.digits is not None:
            return f"{float(self):,.{self.digits}f}"
        decimals = ".###" if self.digits is None else "." + "0" * self.digits if self.digits else ""
        return format_decimal(float(self), format="#,##0" + decimals, locale=language.replace("-", "_"))

    def __str__(self) -> str:
        return self.in_language(ENGLISH)

    def __html__(self) -> str:
        return escape(self.in_language(here()))


class Joined(Said):
    """Several texts, one after another."""

    def in_language(self, language: str) -> str:
        """Each text in that language."""
        return str(said_in(self.message, language)).join(
            str(said_in(part, language)) for part in self.values.values()
        )


class Begun(Said):
    """A text that begins a line."""

    def in_language(self, language: str) -> str:
        """The text in that language, its first letter a capital."""
        words = str(said_in(self.values["words"], language))
        return words[:1].upper() + words[1:]


def begun(words: str) -> Said:
    """A text with a capital, in every language."""
    made = Begun(words[:1].upper() + words[1:])
    made.message, made.many, made.number, made.values = "", "", 0, {"words": words}
    return made


def together(parts: Iterable[object], by: str = " ") -> Said:
    """Sentences or words one after another, without those that are empty; each keeps its translation.

    `by` stands between them; what a language writes otherwise is said: French has a space before a semicolon.
    """
    kept = {str(place): part for place, part in enumerate(parts) if part}
    made = Joined(by.join(map(str, kept.values())))
    made.message, made.many, made.number, made.values = by, "", 0, kept
    return made


def said_in(value: Any, language: str) -> Any:
    """A value in a language, where it knows how; itself where not."""
    return value.in_language(language) if isinstance(value, Said | Amount) else value


def said_here(value: Any) -> Any:
    """A value in the language of the page."""
    return said_in(value, here())


def all_said_here(data: Any) -> Any:
    """Data for a script of the page, its sentences in the language of the page."""
    if isinstance(data, dict):
        return {key: all_said_here(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [all_said_here(value) for value in data]
    return said_here(data)


def translated(text: Any) -> Any:
    """A text that was said without values, and kept as English, in the language of the page."""
    return text if isinstance(text, Said | Markup) or not text else gettext(str(text))


def asked_for(header: str, offered: Iterable[str]) -> str | None:
    """Which offered language a browser's Accept-Language prefers; None where it wants none of them."""
    known = {code.lower(): code for code in offered}
    for wanted in _by_preference(header[:500]):
        found = known.get(wanted) or known.get(wanted.partition("-")[0])
        if found is not None:
            return found
    return None


def _by_preference(header: str) -> list[str]:
    weighed: list[tuple[float, str]] = []
    for part in header.lower().split(","):
        code, _, weight = part.strip().partition(";")
        given = re.fullmatch(r"\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*", weight)
        share = float(given[1]) if given else 1.0
        if share > 0 and re.fullmatch(r"[a-z]{1,8}(-[a-z0-9]{1,8})*", code.strip()):
            weighed.append((-share, code.strip()))
    return [code for _, code in sorted(weighed, key=lambda pair: pair[0])]
