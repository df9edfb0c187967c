"""Protocols as plain data and back."""

from dataclasses import Field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from anyshot_core.protocols.any_way_any_shot import AnyWayAnyShot, FixedWaysShots, HeldOutDomains
from anyshot_core.protocols.attribute_pairs import AttributePairs
from anyshot_core.protocols.base_novel import BaseNovel, ClassSide
from anyshot_core.protocols.fixed_supports import FixedSupports
from anyshot_core.protocols.gaussian import Gaussians
from anyshot_core.protocols.keys import Seed, read_seed
from anyshot_core.protocols.legacy import Legacy
from anyshot_core.protocols.task import (
    NumberMaker,
    Protocol,
    ProtocolError,
    ProtocolSettings,
    Range,
)
from anyshot_core.protocols.within_domain import WithinDomain
from anyshot_core.protocols.writers import Writers

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
    )
}
NUMBER_MAKERS: dict[str, type[NumberMaker]] = {Gaussians.name: Gaussians}
_TUPLES: dict[type, Any] = {str: tuple[str, ...], int: tuple[int, ...], float: tuple[float, ...]}
SEEDS = ("split_seed", "fix_seed")  # settings that are secret where the data is hidden


def protocol_from_dict(data: dict[str, Any], table_folder: Path | None = None) -> Protocol:
    """The protocol that `data` describes: `name` and its settings; missing settings take their defaults.

    A range is written `[low, high]`, or as one number. `table_folder` is where `legacy` keeps its table of tasks;
    without one it is drawn anew in each process.

    Raises:
        ProtocolError: unknown name or key, or a bad value; says what is allowed.
    """
    kind = _find(data.get("name", AnyWayAnyShot.name))
    return kind.from_settings(read_settings(kind, data, f"Protocol {kind.name}"), table_folder)


def read_settings(kind: type[ProtocolSettings], data: dict[str, Any], who: str) -> dict[str, Any]:
    """The settings of `data`, with the types of the kind's fields; `who` names it in errors. Raises `ProtocolError`."""
    settings = {key: value for key, value in data.items() if key != "name"}
    known = {field.name: field for field in kind.setting_fields()}
    if unknown := sorted(set(settings) - set(known)):
        raise ProtocolError(f"{who} has no setting {', '.join(unknown)}; it has {', '.join(known)}.")
    try:
        return {key: _value(known[key], value) for key, value in settings.items()}
    except ValidationError as error:
        first = error.errors()[0]
        raise ProtocolError(f"{who}: found {first['input']!r}: {first['msg']}.") from error


def _find(name: str) -> type[Protocol]:
    offered = ", ".join(sorted(PROTOCOLS))
    if name in NUMBER_MAKERS:
        raise ProtocolError(
            f"{name} makes numbers and draws no images of a pool, so no submission can be run on it. `anyshot analyse "
            f"gaussian` compares learners on it; for a phase take one of {offered}."
        )
    if name not in PROTOCOLS:
        raise ProtocolError(f"Unknown protocol {name!r}; there are {offered}.")
    return PROTOCOLS[name]


def _value(field: Field[Any], value: Any) -> Any:
    default = field.default
    if field.name in SEEDS:
        return _seed(field.name, value)
    if isinstance(default, Range):
        ends = [value, value] if isinstance(value, int) else value
        low, high = _reader(tuple[int, int]).validate_python(ends)
        return Range(low, high)
    if isinstance(default, tuple):
        return _reader(_TUPLES[type(default[0]) if default else str]).validate_python(value)
    return _reader(type(default)).validate_python(value)


@cache
def _reader(kind: Any) -> TypeAdapter[Any]:
    """Making one takes half a millisecond, and protocols are read again and again."""
    return TypeAdapter(kind)


def _seed(name: str, value: Any) -> Seed:
    try:
        return read_seed(value)
    except ValueError as error:
        raise ProtocolError(f"{name}: {error}.") from error
