"""The form of a task protocol: for each protocol its own fields, read off its settings, and an example task.

Fields are called `ROLE.NAME.SETTING`, as `tasks.protocol.legacy.ways`; a range has `.low` and `.high`. Secret seeds are
not entered here.
"""

import io
from collections.abc import Mapping
from dataclasses import Field as DataField
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from anyshot_core.data.picture import task_picture
from anyshot_core.data.pool import Pool
from anyshot_core.data.problems import BadPack
from anyshot_core.protocols import (
    PROTOCOLS,
    AnyWayAnyShot,
    Protocol,
    ProtocolError,
    Range,
    protocol_from_dict,
)
from anyshot_core.protocols.registry import SEEDS
from anyshot_platform.contest.phases.actions.checks import open_protocol
from anyshot_platform.contest.phases.description import SETTINGS, PhaseSpec
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.contest.pools.images import opened, words_without_place
from anyshot_platform.contest.pools.models import PoolVersion
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.foundation.schema.problems import no_number
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.site.web.forms import SentForm

PREFIX = "tasks.protocol"
ROLES = (PREFIX, "tasks.train_protocol", "tasks.validation_protocol")
STANDARD = AnyWayAnyShot.name
_WIDEST = 1600  # pixels of a picture; a task of 20 ways and 20 shots would have 3,600
_EXAMPLE_SEED = 0  # no phase's: what is drawn here tells nothing of the hidden tasks


@dataclass(frozen=True)
class ProtocolField:
    """A setting of a protocol on a page; a range has two values, `choices` are empty where any text will do."""

    name: str
    label: str
    values: tuple[str, ...]
    choices: tuple[str, ...] = ()
    number: bool = False


@dataclass(frozen=True)
class ProtocolCard:
    """A protocol to choose, with its fields."""

    name: str
    words: str
    fields: list[ProtocolField]


@dataclass(frozen=True)
class RoleForm:
    """The form of one of a phase's protocols: `chosen` is the name of one, empty for none where `optional`.

    `proposed`: the phase has none yet, and it is shown to be saved.
    """

    path: str
    title: str
    meaning: str
    optional: bool
    chosen: str
    proposed: bool
    cards: list[ProtocolCard]


def role_forms(spec: PhaseSpec) -> list[RoleForm]:
    """The forms of the protocols of test, training and validation."""
    return [
        RoleForm(
            setting.path,
            setting.title,
            setting.meaning,
            optional := setting.path != PREFIX,
            setting.value(spec).get("name", "" if optional else STANDARD),
            not optional and not setting.value(spec),
            cards(setting.value(spec), setting.path),
        )
        for setting in SETTINGS
        if setting.path in ROLES
    ]


def cards(current: Mapping[str, Any], path: str = PREFIX) -> list[ProtocolCard]:
    """All protocols; the settings of the one that is `current` are as they are, the others' as they come."""
    return [
        _card(kind, current if current.get("name", STANDARD) == name else {}, path)
        for name, kind in PROTOCOLS.items()
    ]


def _card(kind: type[Protocol], current: Mapping[str, Any], path: str) -> ProtocolCard:
    words = (kind.__doc__ or "").strip().partition("\n")[0]
    return ProtocolCard(kind.name, words, [_field(kind, field, current, path) for field in _fields(kind)])


def _fields(kind: type[Protocol]) -> list[DataField[Any]]:
    return [field for field in kind.setting_fields() if field.name not in SEEDS]


def _field(
    kind: type[Protocol], field: DataField[Any], current: Mapping[str, Any], path: str
) -> ProtocolField:
    value = current.get(field.name, field.default)
    if isinstance(field.default, Range):
        low, high = (value.low, value.high) if isinstance(value, Range) else _ends(value)
        values = (str(low), str(high))
    else:
        values = (", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value),)
    return ProtocolField(
        name=f"{path}.{kind.name}.{field.name}",
        label=_label(field.name),
        values=values,
        choices=tuple(kind.choices.get(field.name, ())),
        number=isinstance(field.default, int | float | Range),
    )


def _ends(value: Any) -> tuple[Any, Any]:
    return (value[0], value[1]) if isinstance(value, list | tuple) and len(value) == 2 else (value, value)


def read_protocol(form: SentForm, current: Mapping[str, Any], path: str = PREFIX) -> dict[str, Any]:
    """The protocol that a form sent, without seeds; `current` as it is written where it means the same.

    Of training and validation none is one, too.

    Raises:
        ProtocolError: a name or a value that is none.
    """
    name = form.text(f"{path}.name")
    if not name and path != PREFIX:
        return {}
    kind = PROTOCOLS.get(name)
    if kind is None:
        raise ProtocolError(f"there is no protocol “{name[:40]}”")
    known = open_protocol(dict(current))
    sent: dict[str, Any] = {"name": kind.name}
    for field in _fields(kind):
        value = _read(form, f"{path}.{kind.name}.{field.name}", field.default)
        if value is not None and (value != _default(field) or field.name in known):
            sent[field.name] = value
    made = protocol_from_dict(sent)
    return known if known and _same(known, made) else sent


def _default(field: DataField[Any]) -> Any:
    if isinstance(field.default, Range):
        return [field.default.low, field.default.high]
    return list(field.default) if isinstance(field.default, tuple) else field.default


def _same(known: dict[str, Any], made: Protocol) -> bool:
    try:
        return protocol_from_dict(known) == made
    except ProtocolError:
        return False


def _read(form: SentForm, name: str, default: Any) -> Any:
    """What a field sent, in the kind of its default; None where it is empty."""
    if isinstance(default, Range):
        ends = [_number(form.text(f"{name}.{end}"), int, name) for end in ("low", "high")]
        return None if None in ends else ends
    text = form.text(name)
    if not text:
        return None
    if isinstance(default, tuple):
        parts = [part.strip() for part in text.split(",") if part.strip()]
        return (
            [_number(part, float, name) for part in parts]
            if default and isinstance(default[0], float)
            else parts
        )
    return _number(text, type(default), name) if isinstance(default, int | float) else text


def _number(text: str, kind: type[int] | type[float], name: str) -> Any:
    try:
        return kind(text) if text else None
    except ValueError:
        named = next(part for part in reversed(name.split(".")) if part not in ("low", "high"))
        raise ProtocolError(join_texts((_label(named), no_number(text, kind)), by=": ")) from None


def _label(name: str) -> str:
    """What a page calls a setting of a protocol."""
    return name.replace("_", " ").capitalize()


def example(
    session: Session, storage: Storage, version: PhaseVersion, protocol: Mapping[str, Any], number: int
) -> bytes:
    """Picture `number` of a task of the protocol, as PNG: from the data that participants learn from.

    The tasks follow from a seed of their own, so they tell nothing of the phase's hidden ones.

    Raises:
        Invalid: the pool has no data, or cannot offer what the protocol asks for; says why.
    """
    packs = _packs(version.meta_train)
    if not packs:
        raise Invalid("An example is drawn from the meta-train pool: choose one that has data, and save.")
    try:
        with opened(storage, packs[number % len(packs)]) as pack:
            task = protocol_from_dict(dict(protocol)).task(Pool([pack]), _EXAMPLE_SEED, number)
            picture = task_picture(pack, task)
    except ProtocolError as error:
        raise Invalid(words_without_place(error)) from error
    except (OSError, BadPack) as error:
        raise Invalid(
            "The file of a dataset of the meta-train pool cannot be read: upload it again."
        ) from error
    picture.thumbnail((_WIDEST, _WIDEST))
    target = io.BytesIO()
    picture.save(target, "PNG", optimize=True)
    return target.getvalue()


def _packs(pool: PoolVersion | None) -> list[str]:
    return [entry.pack.digest for entry in pool.entries] if pool else []
