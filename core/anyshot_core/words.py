"""Words of English sentences. It loads nothing, so that who needs a word does not wait for a chart."""

from datetime import UTC, datetime

from anyshot_core.zones import find_zone


def decimal_words(value: float, places: int = 3) -> str:
    """So many decimals, with commas and a minus sign (U+2212); what they round to 0 has no sign."""
    return f"{value:z,.{places}f}".replace("-", "−")


def in_utc(moment: datetime | str) -> datetime:
    """A moment, or its ISO form, in UTC; one without a zone is taken as UTC, as the platform's database keeps them."""
    found = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def moment_words(moment: datetime | str, until: str = "minutes") -> str:
    """`28 Nov 2026, 13:50 UTC`, of a moment or its ISO form, `until` minutes, seconds or milliseconds."""
    utc = in_utc(moment)
    return f"{utc.day} {utc:%b %Y}, {utc.time().isoformat(until)} UTC"


def deadline_words(moment: datetime | str, zone: str) -> str:
    """`29 Nov 2026, 11:59 UTC (28 Nov 2026, 23:59 AoE)`: in UTC, and in the zone that its organizer wrote it in."""
    there = words_there(moment, zone)
    return f"{moment_words(moment)} ({there})" if there else moment_words(moment)


def words_there(moment: datetime | str, zone: str) -> str:
    """`28 Nov 2026, 23:59 AoE`; empty where clocks of the zone show UTC then, or there is no such zone."""
    found = find_zone(zone)
    if found is None or not (there := in_utc(moment).astimezone(found)).utcoffset():
        return ""
    return f"{there.day} {there:%b %Y, %H:%M} {found}"


def count_of(number: float, noun: str, many: str = "") -> str:
    """`4 cores`, `0.5 cores`, `1 core`; `many` is the plural where it is not the noun with an s."""
    return f"{number:g} {noun if number == 1 else many or noun + 's'}"


def number_words(value: float) -> str:
    """Four significant digits; below a millionth digits say nothing, and what is 0 has no sign."""
    if 0 < abs(value) < 1e-6:
        return "under 1e-6" if value > 0 else "above −1e-6"
    words = f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:z.4g}"
    return f"−{words[1:]}" if words.startswith("-") else words
