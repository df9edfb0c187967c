"""Time zones by their names in the IANA database."""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


def find_zone(name: str) -> ZoneInfo | None:
    """The zone of that name, like Europe/Paris; None where the database knows none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
