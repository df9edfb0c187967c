"""A task protocol as a field of a message."""

from typing import Annotated

from pydantic import JsonValue, PlainSerializer, PlainValidator, WithJsonSchema

from anyshot_core.protocols import Protocol, ProtocolError, protocol_from_dict


def _read(value: Protocol | dict[str, JsonValue]) -> Protocol:
    try:
        return value if isinstance(value, Protocol) else protocol_from_dict(dict(value))
    except ProtocolError as error:
        raise ValueError(str(error)) from error


def _write(protocol: Protocol) -> dict[str, JsonValue]:
    return protocol.to_dict()


ProtocolField = Annotated[
    Protocol,
    PlainValidator(_read),
    PlainSerializer(_write),
    WithJsonSchema({"type": "object", "description": "`name` of a protocol and its settings"}),
]
"""A protocol with its settings: one that this release does not know is refused by whoever reads the message."""
