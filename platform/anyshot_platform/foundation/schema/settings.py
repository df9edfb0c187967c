"""The settings of a description: one object a field, with its words, its widget, its limits and where it is kept.

A field says what it is by its type, its `title` (the label of a form) and `description` (what it means), and by the
marks below. Who needs the settings one by one reads them from `settings_of`: the form, the rows of the database, the
difference between two descriptions, the tables of the documentation.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import BeforeValidator
from pydantic.fields import FieldInfo

from anyshot_platform.foundation.schema.parts import Part
from anyshot_platform.foundation.schema.quantities import (
    parse_duration,
    parse_size,
    write_duration,
    write_number,
    write_size,
)

M = TypeVar("M")
P = TypeVar("P", bound=Part)


@dataclass(frozen=True)
class Column:
    """The setting is kept in this column of a table; `negated` where the column says the opposite.

    `sent` where workers are told it as it is, by the same name.
    """

    table: str
    name: str
    negated: bool = False
    sent: bool = False


@dataclass(frozen=True)
class Choices:
    """The values that the setting may have, each with its words."""

    words: Mapping[Any, str]


@dataclass(frozen=True)
class Offered:
    """The values that the setting may have are looked up when it is shown: pools, images, rules."""

    what: str


@dataclass(frozen=True)
class Elsewhere:
    """The setting is no field of the form: it is secret, or has a page of its own."""


class Effect(StrEnum):
    """What a change of a setting sets off."""

    VERSION = "version"  # scores would be incomparable: a new version takes it
    BOARD = "board"  # the boards are computed again
    CONDITIONS = "conditions"  # a league's entries follow; who must answer its questions gets a message


@dataclass(frozen=True)
class Triggers:
    """A change of the setting sets this off."""

    effect: Effect


@dataclass(frozen=True)
class Lines:
    """Text of several lines."""

    rows: int


class Widget(StrEnum):
    """What a setting is entered with."""

    TICK = "tick"
    NUMBER = "number"
    DURATION = "duration"
    SIZE = "size"
    MOMENT = "moment"
    CHOICE = "choice"
    LINES = "lines"
    TEXT = "text"
    OBJECT = "object"  # keys of its own; the page has a form for it


@dataclass(frozen=True)
class Setting:
    """A field of a description; `path` is its place, such as `quota.per_day`."""

    path: str
    info: FieldInfo

    def mark(self, kind: type[M]) -> M | None:
        """The mark of this kind, if the field has one."""
        return next((mark for mark in self.info.metadata if isinstance(mark, kind)), None)

    @property
    def title(self) -> str:
        """Its label in forms."""
        return self.info.title or self.path.rpartition(".")[2].replace("_", " ").capitalize()

    @property
    def meaning(self) -> str:
        """What it means: the hint of a form."""
        return self.info.description or ""

    @property
    def nullable(self) -> bool:
        """Whether it may be empty, which says something: unlimited, none."""
        return type(None) in get_args(self.info.annotation)

    @property
    def widget(self) -> Widget:
        """What it is entered with."""
        kinds, parsers = set(_types(self.info)), _parsers(self.info)
        if self.mark(Choices) or self.mark(Offered):
            return Widget.CHOICE
        for parser, widget in ((parse_duration, Widget.DURATION), (parse_size, Widget.SIZE)):
            if parser in parsers:
                return widget
        for kind, widget in _WIDGETS.items():
            if kind in kinds:
                return widget
        return Widget.LINES if self.mark(Lines) else Widget.TEXT

    @property
    def attributes(self) -> dict[str, float | int | str]:
        """Its limits, as the tag of a form has them."""
        marks = [*self.info.metadata, *_metadata(self.info.annotation)]
        low = next((mark.ge for mark in marks if isinstance(mark, Ge)), None)
        high = next((mark.le for mark in marks if isinstance(mark, Le)), None)
        found: dict[str, Any] = {"min": low, "max": high}
        if float in set(_types(self.info)):
            found["step"] = "any"
            if any(isinstance(mark, Gt) for mark in marks):
                found["min"] = 0
        return {name: value for name, value in found.items() if value is not None}

    @property
    def choices(self) -> list[tuple[str, str]]:
        """The values that it may have, each with its words; empty where they are looked up."""
        mark = self.mark(Choices)
        return [(str(plain(value)), words) for value, words in mark.words.items()] if mark else []

    def value(self, description: Part) -> Any:
        """Its value in a description."""
        found: Any = description
        for name in self.path.split("."):
            found = getattr(found, name) if found is not None else None
        return found

    def text(self, description: Part) -> str:
        """Its value as a form shows it; reads back as exactly the same."""
        value = self.value(description)
        if value is None:
            return ""
        writers = {Widget.DURATION: write_duration, Widget.SIZE: write_size}
        if self.widget == Widget.NUMBER:
            return str(write_number(value))
        return str(writers.get(self.widget, plain)(value))


_WIDGETS = {
    bool: Widget.TICK,
    datetime: Widget.MOMENT,
    int: Widget.NUMBER,
    float: Widget.NUMBER,
    dict: Widget.OBJECT,
}


@cache
def settings_of(model: type[Part]) -> tuple[Setting, ...]:
    """The settings of a description, those of its parts included, in their order."""
    return tuple(_walk(model, ""))


def effects(old: P, new: P) -> set[Effect]:
    """What the changes between two descriptions of one kind set off."""
    return {
        mark.effect
        for setting in settings_of(type(old))
        if (mark := setting.mark(Triggers)) and setting.value(old) != setting.value(new)
    }


def _walk(model: type[Part], prefix: str) -> Iterator[Setting]:
    for name, info in model.model_fields.items():
        part = part_in(info)
        if part is not None:
            yield from _walk(part, f"{prefix}{name}.")
        else:
            yield Setting(f"{prefix}{name}", info)


def part_in(info: FieldInfo) -> type[Part] | None:
    """The part that a field is, or may be; None for a field that is a setting."""
    if get_origin(info.annotation) is list:
        return None
    return next((kind for kind in _types(info) if isinstance(kind, type) and issubclass(kind, Part)), None)


def plain(value: Any) -> Any:
    """A value as JSON and forms have it."""
    return value.value if isinstance(value, Enum) else value


def put(data: dict[str, Any], path: str, value: Any) -> None:
    """Set what lies at a path, such as `quota.per_day`, in nested dicts."""
    *parts, key = path.split(".")
    for part in parts:
        data = data.setdefault(part, {})
    data[key] = value


def _types(info: FieldInfo) -> Iterator[Any]:
    """The types that a value may have, without None and without what is annotated to them."""
    for kind in _members(info.annotation):
        bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
        yield get_origin(bare) or bare


def _members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the type itself."""
    members = get_args(annotation) if type(None) in get_args(annotation) else (annotation,)
    return tuple(member for member in members if member is not type(None))


def _metadata(annotation: Any) -> list[Any]:
    return [
        mark for kind in _members(annotation) if get_origin(kind) is Annotated for mark in get_args(kind)[1:]
    ]


def _parsers(info: FieldInfo) -> set[Any]:
    marks = [*info.metadata, *_metadata(info.annotation)]
    return {mark.func for mark in marks if isinstance(mark, BeforeValidator)}
