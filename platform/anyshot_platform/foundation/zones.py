"""What is wrong with a time zone or a moment in it, and the zone that is kept with a moment."""

from datetime import UTC, datetime, tzinfo

from anyshot_core.zones import find_zone


def words_on_zone(name: str) -> str:
    """Why this is no time zone; empty where it is one."""
    if find_zone(name) is not None:
        return ""
    return f"There is no time zone {name}; write one like Europe/Paris, AoE or UTC-12."


def words_on_skipped(moment: datetime, zone: tzinfo) -> str:
    """Why clocks of the zone never show this moment, which names no zone itself; empty where they do."""
    there = moment.replace(tzinfo=zone).astimezone(UTC).astimezone(zone)
    if moment.tzinfo or there.replace(tzinfo=None, fold=0) == moment.replace(fold=0):
        return ""
    return f"Clocks in {zone} skip {moment:%H:%M} on {moment:%Y-%m-%d}; the next one is {there:%H:%M}."


def place(moment: datetime, zone: tzinfo) -> datetime:
    """The moment in UTC; one without an offset is of the zone."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    return aware.astimezone(UTC)


def zone_written(moment: datetime | None, home: str) -> str:
    """The zone that a moment was written in: `home` where it names none or UTC, or clocks of `home` agree."""
    zone = find_zone(home)
    if moment is None or not moment.utcoffset():
        return home
    same = zone is not None and moment.astimezone(zone).utcoffset() == moment.utcoffset()
    return home if same else str(moment.tzinfo)
