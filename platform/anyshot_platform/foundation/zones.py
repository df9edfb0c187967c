"""Time zones by their names in the IANA database."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


def find_zone(name: str) -> ZoneInfo | None:
    """The zone of that name, like Europe/Paris; None where the database knows none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def words_on_zone(name: str) -> str:
    """Why this is no time zone; empty where it is one."""
    if find_zone(name) is not None:
        return ""
    return f"There is no time zone {name}; write one like Europe/Paris."


def words_on_skipped(moment: datetime, zone: ZoneInfo) -> str:
    """Why clocks of the zone never show this moment, which names no zone itself; empty where they do."""
    there = moment.replace(tzinfo=zone).astimezone(UTC).astimezone(zone)
    if moment.tzinfo or there.replace(tzinfo=None, fold=0) == moment.replace(fold=0):
        return ""
    return f"Clocks in {zone.key} skip {moment:%H:%M} on {moment:%Y-%m-%d}; the next one is {there:%H:%M}."


def place(moment: datetime, zone: ZoneInfo) -> datetime:
    """The moment in UTC; one without an offset is of the zone."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    return aware.astimezone(UTC)
