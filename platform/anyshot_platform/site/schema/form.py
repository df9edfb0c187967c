"""A form for a description: its fields as a page shows them, and what was sent read back. No setting is named here."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import ValidationError

from anyshot_core.words import in_utc
from anyshot_core.zones import find_zone
from anyshot_platform.foundation.schema.parts import Part
from anyshot_platform.foundation.schema.problems import in_words
from anyshot_platform.foundation.schema.settings import (
    Elsewhere,
    Offered,
    Setting,
    Widget,
    part_in,
    put,
    settings_of,
)
from anyshot_platform.foundation.zones import words_on_skipped
from anyshot_platform.site.web.forms import SentForm

D = TypeVar("D", bound=Part)
Options = Sequence[tuple[str, str]]
_FORMAT = "%Y-%m-%dT%H:%M"


@dataclass(frozen=True)
class Field:
    """A setting as a page shows it: `value` is text, `options` are those of a choice."""

    setting: Setting
    value: str
    options: Options

    @property
    def filled(self) -> bool:
        """Whether there is something in it: a text, a number, a tick."""
        return self.value not in ("", str(False))

    @property
    def needed(self) -> bool:
        """Whether it may not be left empty."""
        widget = self.setting.widget
        typed = widget in (Widget.NUMBER, Widget.DURATION, Widget.SIZE)
        return self.setting.info.is_required() or (typed and not self.setting.nullable)


@dataclass(frozen=True)
class Card:
    """The settings of one part, under its title."""

    key: str
    title: str
    words: str
    fields: list[Field]


def cards_of(
    description: Part,
    *,
    title: str,
    offered: Mapping[str, Options],
    zone: str = "UTC",
    leave_out: Collection[str] = (),
) -> list[Card]:
    """The form of a description, a card a part; `title` is that of what belongs to no part.

    Args:
        offered: for each kind of `Offered`, what there is.
        zone: in which moments are shown.
        leave_out: paths of settings that are not entered here.
    """
    model, grouped = type(description), dict[str, list[Setting]]()
    for setting in settings_of(model):
        if not setting.mark(Elsewhere) and setting.path not in leave_out:
            grouped.setdefault(setting.path.rpartition(".")[0], []).append(setting)
    cards: list[Card] = []
    for part, settings in grouped.items():
        info = model.model_fields.get(part)
        fields = [_field(setting, description, offered, zone) for setting in settings]
        cards.append(Card(part, (info.title or part) if info else title, _words(model, part), fields))
    return cards


def _words(model: type[Part], part: str) -> str:
    kind = part_in(model.model_fields[part]) if part else None
    return " ".join((kind.__doc__ or "").split()) if kind else ""


def _field(setting: Setting, description: Part, offered: Mapping[str, Options], zone: str) -> Field:
    value: Any = setting.value(description)
    if setting.widget == Widget.MOMENT:
        return Field(setting, written_moment(value, zone), ())
    mark = setting.mark(Offered)
    options = offered[mark.what] if mark else [(name, words) for name, words in setting.choices]
    return Field(setting, setting.text(description), options)


def read_form(
    model: type[D], form: SentForm, given: Mapping[str, Any], *, zone: str = "UTC"
) -> tuple[D | None, dict[str, str]]:
    """The description that a form sent, or what is wrong with each field, by path.

    Args:
        given: settings that are known without the form, by path.
        zone: of the moments in the form.
    """
    errors: dict[str, str] = {}
    data: dict[str, Any] = {}
    for setting in settings_of(model):
        if setting.path in given:
            value = given[setting.path]
        elif setting.mark(Elsewhere):
            continue
        else:
            value = _read(setting, form, zone, errors)
        if value is not None or setting.nullable:
            put(data, setting.path, value)
    try:
        return (None if errors else model.model_validate(data)), errors
    except ValidationError as error:
        return None, errors | problems_of(error)


def _read(setting: Setting, form: SentForm, zone: str, errors: dict[str, str]) -> Any:
    if setting.widget == Widget.TICK:
        return form.flag(setting.path)
    text = form.text(setting.path)
    if setting.widget == Widget.MOMENT:
        return read_moment(text, zone, setting.path, errors)
    return text or None


def written_moment(value: datetime | None, zone: str) -> str:
    """A moment as a `datetime-local` field of that zone writes it."""
    return in_utc(value).astimezone(find_zone(zone)).strftime(_FORMAT) if value else ""


def read_moment(text: str, zone: str, name: str, errors: dict[str, str]) -> datetime | None:
    """A moment of a `datetime-local` field in UTC; None for an empty one, or a message in `errors`."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        errors[name] = f"This is no moment: {text[:40]}"
        return None
    there = find_zone(zone) or UTC
    if words := words_on_skipped(moment, there):
        errors[name] = words
        return None
    return moment.replace(tzinfo=there).astimezone(UTC)


def problems_of(error: ValidationError) -> dict[str, str]:
    """What a model found wrong, in words, by path."""
    found: dict[str, str] = {}
    for details in error.errors():
        found.setdefault(".".join(str(part) for part in details["loc"]), in_words(details))
    return found
