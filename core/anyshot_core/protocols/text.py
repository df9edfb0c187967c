"""A protocol in one line, as the command line takes it: `within_domain split=70/15/15 part=meta_train ways=5`."""

import json
import re
from collections.abc import Mapping
from typing import Any

from anyshot_core.protocols.registry import PROTOCOLS, protocol_from_dict
from anyshot_core.protocols.task import Protocol, ProtocolError, ProtocolSettings, Range

_WORDS = re.compile(r"(?:\[[^\]]*\]|\S)+")  # a list in brackets may have spaces


def read_protocol(text: str) -> Protocol:
    """Name and settings, `KEY=VALUE` with spaces between; or a JSON object.

    `2-20` is a range, `a,b` a list, and so is `["a", "b"]`.

    Raises ProtocolError.
    """
    return protocol_from_dict(read_line(text, PROTOCOLS))


def read_line(text: str, kinds: Mapping[str, type[ProtocolSettings]]) -> dict[str, Any]:
    """Plain data of such a line, for what is described as protocols are. Raises ProtocolError."""
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)
        except ValueError as error:
            raise ProtocolError(f"{text!r} is no JSON object: {error}.") from error
    name, *settings = _WORDS.findall(text) or [""]
    kind = kinds.get(name)
    defaults = {} if kind is None else {field.name: field.default for field in kind.setting_fields()}
    data: dict[str, Any] = {"name": name}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ProtocolError(f"{setting!r} is no setting of {name}: write KEY=VALUE.")
        data[key] = _value(value, defaults.get(key))
    return data


def _value(text: str, default: Any) -> Any:
    try:
        match default:  # pyright: ignore[reportMatchNotExhaustive]
            case Range():
                low, _, high = text.partition("-")
                return [int(low), int(high or low)]
            case tuple():
                member = type(default[0]) if default else str
                return [member(part.strip(" \"'")) for part in text.strip("[]").split(",")]
            case int():
                return int(text)
            case float():
                return float(text)
    except ValueError as error:
        raise ProtocolError(f"{text!r} is no {type(default).__name__.lower()}.") from error
    return text
