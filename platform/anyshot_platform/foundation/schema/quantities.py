"""Durations, sizes and moments as people write them in a competition.yaml."""

import re
from contextlib import suppress
from datetime import UTC, date, datetime, time
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

from anyshot_core.zones import find_zone

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(days?|d|hours?|h|minutes?|min|m|seconds?|s)?\s*", re.IGNORECASE)
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def parse_duration(value: Any) -> Any:
    """Seconds from a number or text such as "5h", "1h 30m", "90 s"; anything else is left to the model."""
    if not isinstance(value, str):
        return value
    position, seconds = 0, 0.0
    text = value.strip()
    while position < len(text):
        match = _DURATION.match(text, position)
        if match is None:
            words = f"write a duration as seconds or like 5h, 1h 30m, 90s; found {value!r}"
            raise ValueError(words)
        unit = match.group(2)
        seconds += float(match.group(1)) * _SECONDS[unit[0].lower() if unit else "s"]
        position = match.end()
    if not text:
        raise ValueError("write a duration as seconds or like 5h, 1h 30m, 90s; found nothing")
    return seconds


def parse_size(value: Any) -> Any:
    """Bytes from a number or from text such as "16 GiB" (1024) or "16 GB" (1000)."""
    if not isinstance(value, str):
        return value
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        raise ValueError(f"write a size as bytes or like 16 GiB; found {value!r}")
    base = 1024 if match.group(3) else 1000
    return int(float(match.group(1)) * base ** _POWERS[match.group(2).upper()])


def parse_moment(value: Any) -> Any:
    """A date counts from its first second; text must be ISO 8601, or that and a zone: `2026-12-01 23:59 AoE`."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    if isinstance(value, str):
        with suppress(ValueError):
            return datetime.fromisoformat(value.strip())
        written, _, zone = value.strip().rpartition(" ")
        with suppress(ValueError):
            moment, found = datetime.fromisoformat(written.strip()), find_zone(zone)
            if found is not None and moment.tzinfo is None:
                return moment.replace(tzinfo=found)
    raise ValueError(
        f"write a moment like 2022-07-01 00:00:00+02:00 or 2022-07-01 23:59 AoE; found {value!r}"
    )


def write_duration(seconds: float | None) -> str:
    """Seconds as text that reads back as exactly the same: "5h", "90min", "45s"."""
    if seconds is None:
        return ""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds and seconds % length == 0:
            return f"{int(seconds // length)}{unit}"
    return f"{write_number(seconds)}s"


def write_size(octets: int) -> str:
    """Bytes as text that reads back as exactly the same: "4 GiB", "16 GB", "1000"."""
    for unit, length in (("GiB", 1 << 30), ("GB", 10**9), ("MiB", 1 << 20), ("MB", 10**6)):
        if octets and octets % length == 0:
            return f"{octets // length} {unit}"
    return str(octets)


def write_moment(value: datetime) -> str:
    return value.astimezone(UTC).isoformat() if value.tzinfo else value.isoformat()


def write_number(value: float) -> float | int:
    return int(value) if float(value).is_integer() else value


Duration = Annotated[float, BeforeValidator(parse_duration), PlainSerializer(write_number)]
Size = Annotated[int, BeforeValidator(parse_size)]
Moment = Annotated[datetime, BeforeValidator(parse_moment), PlainSerializer(write_moment)]
