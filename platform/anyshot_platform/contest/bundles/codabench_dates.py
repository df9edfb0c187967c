"""Dates as organizers wrote them in Codabench and CodaLab bundles."""

import re
from datetime import UTC, date, datetime, time

_PARTS = re.compile(
    r"(\d{1,4})[-/.](\d{1,2})[-/.](\d{1,4})(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2}))?)?\s*"
    r"(Z|UTC|[+-]\d\d:?\d\d)?$"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WORDS = re.compile(
    r"(?:([a-z]{3})[a-z]*\.? (\d{1,2})|(\d{1,2}) ([a-z]{3})[a-z]*\.?),? (\d{4})$", re.IGNORECASE
)


class UnclearDate(ValueError):
    """The text is not a date that can be told apart."""


def read_date(value: object) -> tuple[datetime, str | None]:
    """The moment (aware; UTC where no zone is given) and a remark where another reading was possible."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)), None
    if isinstance(value, date):
        return datetime.combine(value, time(), tzinfo=UTC), None
    text = str(value).strip()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return _read_loose(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)), None


def _read_loose(text: str) -> tuple[datetime, str | None]:
    words = _WORDS.match(text)
    if words:
        name, day = (words[1], words[2]) if words[1] else (words[4], words[3])
        if name.lower() in _MONTHS:
            return _moment(int(words[5]), _MONTHS.index(name.lower()) + 1, int(day), text), None
    parts = _PARTS.match(text)
    if parts is None:
        raise UnclearDate(f"{text!r} is not a date; write one like 2024-07-01T00:00:00+00:00")
    first, second, third = int(parts[1]), int(parts[2]), int(parts[3])
    remark = None
    if len(parts[1]) == 4:
        year, month, day = first, second, third
    elif first > 12:
        year, month, day = third, second, first
        remark = f"{text!r} was read as day, month, year"
    else:
        year, month, day = third, first, second  # as Codabench reads it
        if first != second and second <= 12:
            remark = f"{text!r} was read as month, day, year, as Codabench does"
    moment = _moment(year, month, day, text, int(parts[4] or 0), int(parts[5] or 0), int(parts[6] or 0))
    zone = parts[7]
    if zone and zone not in ("Z", "UTC"):
        offset = datetime.strptime(zone.replace(":", ""), "%z").tzinfo
        moment = moment.replace(tzinfo=offset)
    return moment, remark


def _moment(
    year: int, month: int, day: int, text: str, hour: int = 0, minute: int = 0, second: int = 0
) -> datetime:
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as error:
        raise UnclearDate(f"{text!r} is not a date: {error}") from None
