"""Sentences as JSON: over the wire from a confined process and in the audit log, and sentences again for a reader."""

from __future__ import annotations

from typing import Any

from anyshot_platform.kernel.language import Amount, Begun, Joined, Said
from anyshot_platform.kernel.retold import Retold

_KINDS = {kind.__name__: kind for kind in (Said, Joined, Begun, Retold)}
_KIND = "said_as"  # the key by which a kept sentence is known


def to_json(data: Any) -> Any:
    """Plain data with its sentences as JSON keeps them; values of sentences that JSON has not are texts."""
    if isinstance(data, Said):
        values = to_json(data.values)
        return {
            _KIND: type(data).__name__,
            "text": str(data),
            "message": to_json(data.message),
            "many": data.many,
            "number": data.number,
            "values": values,
        }
    if isinstance(data, Amount):
        return {_KIND: "Amount", "number": float(data), "digits": data.digits}
    if isinstance(data, dict):
        return {key: to_json(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [to_json(value) for value in data]
    return data if data is None or isinstance(data, str | int | float) else str(data)


def from_json(data: Any) -> Any:
    """What `to_json` was given, its tuples as lists; a text that was kept as English stays it."""
    if isinstance(data, list):
        return [from_json(value) for value in data]
    if not isinstance(data, dict):
        return data
    inner = {key: from_json(value) for key, value in data.items()}
    if _KIND not in inner:
        return inner
    if inner[_KIND] == "Amount":
        return Amount(inner["number"], inner["digits"])
    made = _KINDS[inner[_KIND]](inner["text"])
    made.message, made.many, made.number = inner["message"], inner["many"], inner["number"]
    made.values = inner["values"]
    return made
