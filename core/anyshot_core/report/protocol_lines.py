"""A protocol as the line that commands take, for what says what was run."""

from typing import Any

from anyshot_core.protocols import Protocol, Range


def write_protocol(protocol: Protocol) -> str:
    """What `read_protocol` reads it from: its name, and the settings that are not the usual ones."""
    kept, words = protocol.to_dict(), [protocol.name]
    for field in protocol.setting_fields():
        if (value := getattr(protocol, field.name)) != field.default:
            words.append(f"{field.name}={_said(value, kept[field.name])}")
    return " ".join(words)


def _said(value: Any, kept: Any) -> str:
    if isinstance(value, Range):
        return str(value.low) if value.low == value.high else f"{value.low}-{value.high}"
    return ",".join(map(str, kept)) if isinstance(kept, list) else str(kept)
