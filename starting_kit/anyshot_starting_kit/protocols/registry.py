"""Protocols as plain data and back."""

from __future__ import annotations

from dataclasses import Field, fields
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from anyshot_starting_kit.protocols.any_way_any_shot import AnyWayAnyShot, FixedWaysShots, HeldOutDomains
from anyshot_starting_kit.protocols.attribute_pairs import AttributePairs
from anyshot_starting_kit.protocols.base_novel import BaseNovel, ClassSide
from anyshot_starting_kit.protocols.fixed_supports import FixedSupports
from anyshot_starting_kit.protocols.gaussian import Gaussians
from anyshot_starting_kit.protocols.keys import Seed, read_seed, write_seed
from anyshot_starting_kit.protocols.legacy import Legacy
from anyshot_starting_kit.protocols.table import TableStore
from anyshot_starting_kit.protocols.task import Protocol, ProtocolError, Range
from anyshot_starting_kit.protocols.within_domain import WithinDomain
from anyshot_starting_kit.protocols.writers import Writers

PROTOCOLS: dict[str, type[Protocol]] = {
    kind.name: kind
    for kind in (
        AnyWayAnyShot,
        FixedWaysShots,
        HeldOutDomains,
        WithinDomain,
        Legacy,
        ClassSide,
        BaseNovel,
        FixedSupports,
        AttributePairs,
        Writers,
        Gaussians,
    )
}


SEEDS = ("split_seed", "fix_seed")  # settings that are secret where the data is hidden


def protocol_from_dict(data: dict[str, Any], table_folder: Path | None = None) -> Protocol:
    """The protocol that `data` describes: `name` and its settings; missing settings take their defaults.

    A range is written `[low, high]`, or as one number. `table_folder` is where `legacy` keeps its table of tasks;
    without one it is drawn anew in each process.

    Raises:
        ProtocolError: unknown name or key, or a bad value; says what is allowed.
    """
    name = data.get("name", "any_way_any_shot")
    if name not in PROTOCOLS:
        raise ProtocolError(f"Unknown protocol {name!r}; there are {', '.join(sorted(PROTOCOLS))}.")
    kind = PROTOCOLS[name]
    settings = {key: value for key, value in data.items() if key != "name"}
    known = {field.name: field for field in _settings(kind)}
    if unknown := sorted(set(settings) - set(known)):
        raise ProtocolError(
            f"Protocol {name} has no setting {', '.join(unknown)}; it has {', '.join(known)}."
        )
    try:
        values = {key: _value(known[key], value) for key, value in settings.items()}
    except ValidationError as error:
        first = error.errors()[0]
        raise ProtocolError(f"Protocol {name}: found {first['input']!r}: {first['msg']}.") from error
    return Legacy(**values, store=TableStore(table_folder)) if kind is Legacy else kind(**values)


def _settings(kind: type[Protocol] | Protocol) -> list[Field[Any]]:
    return [field for field in fields(kind) if field.metadata.get("setting", True)]


def _value(field: Field[Any], value: Any) -> Any:
    default = field.default
    if field.name in SEEDS:
        return _seed(field.name, value)
    if isinstance(default, Range):
        ends = [value, value] if isinstance(value, int) else value
        low, high = TypeAdapter(tuple[int, int]).validate_python(ends)
        return Range(low, high)
    if isinstance(default, tuple):
        floats = bool(default) and isinstance(default[0], float)
        return TypeAdapter(tuple[float, ...] if floats else tuple[str, ...]).validate_python(value)
    return TypeAdapter(type(default)).validate_python(value)


def _seed(name: str, value: Any) -> Seed:
    try:
        return read_seed(value)
    except ValueError as error:
        raise ProtocolError(f"{name}: {error}.") from error


def to_plain(protocol: Protocol) -> dict[str, Any]:
    """`name` and every setting, as JSON knows them."""
    plain: dict[str, Any] = {"name": protocol.name}
    for field in _settings(protocol):
        value = getattr(protocol, field.name)
        if isinstance(value, Range):
            value = [value.low, value.high]
        if isinstance(value, bytes):
            value = write_seed(value)
        plain[field.name] = list(value) if isinstance(value, tuple) else value
    return plain
