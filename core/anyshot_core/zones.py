"""Time zones as organizers write them: names of the IANA database, AoE, and offsets from UTC."""

import re
from datetime import timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

AOE = timezone(timedelta(hours=-12), "AoE")  # Anywhere on Earth: where a day ends last
_OFFSET = re.compile(r"(?:UTC)?([+-])(\d{1,2})(?::?([0-5]\d))?", re.IGNORECASE)
_FARTHEST = timedelta(hours=14)


def find_zone(name: str) -> tzinfo | None:
    """The zone that is written so: Europe/Paris, AoE, UTC-12, UTC+2, +02:00; None where there is none.

    `str` of it is its name.
    """
    if name.casefold() == "aoe":
        return AOE
    if offset := _OFFSET.fullmatch(name):
        sign, hours, minutes = offset.groups()
        span = timedelta(hours=int(hours), minutes=int(minutes or 0))
        return timezone(-span if sign == "-" else span, name) if span <= _FARTHEST else None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
