"""How pages write dates, durations, sizes, scores: one function a kind of value."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from markupsafe import Markup, escape

_MISSING = Markup('<span class="faint">–</span>')


def in_utc(moment: datetime) -> datetime:
    """The moment in UTC; naive ones are taken as UTC, as the database keeps them."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def when(moment: datetime | None, style: Literal["short", "both", "ago"] = "short") -> Markup:
    """A `<time>` in UTC that site.js rewrites in the reader's zone; `both` keeps UTC visible beside it."""
    if moment is None:
        return _MISSING
    utc = in_utc(moment)
    shown = f"{utc.day} {utc:%b %Y, %H:%M} UTC"
    return Markup('<time datetime="{}" data-when="{}" title="{}">{}</time>').format(
        utc.isoformat(timespec="seconds"), style, shown, shown
    )


def duration(seconds: float | None) -> str | Markup:
    """Seconds as a person says them: `0.4 s`, `12 s`, `3 min 5 s`, `5 h 10 min`."""
    if seconds is None:
        return _MISSING
    if seconds < 0:
        return "−" + str(duration(-seconds))
    if seconds < 0.0995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return _two_units(whole // 60, "min", whole % 60, "s")
    if whole < 86400:
        return _two_units(whole // 3600, "h", whole % 3600 // 60, "min")
    return _two_units(whole // 86400, "d", whole % 86400 // 3600, "h")


def _two_units(large: int, large_name: str, small: int, small_name: str) -> str:
    return f"{large} {large_name}" + (f" {small} {small_name}" if small else "")


def size(octets: int | None) -> str | Markup:
    """Bytes in binary units: `0 B`, `1.4 MiB`."""
    if octets is None:
        return _MISSING
    amount = float(octets)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if amount < 1024 or unit == "TiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"


def score(value: float | None, digits: int = 3) -> str | Markup:
    """A score with a real minus sign; a dash where it is undefined."""
    if value is None or value != value:
        return _MISSING
    return f"{value:.{digits}f}".replace("-", "−")


def interval(half_width: float | None, digits: int = 3) -> str:
    """The half width of an interval as ` ± 0.012`; nothing where it is undefined."""
    return "" if half_width is None or half_width != half_width else f"± {half_width:.{digits}f}"


def percent(share: float | None, digits: int = 0) -> str | Markup:
    """A share in [0, 1] as a percentage."""
    return _MISSING if share is None or share != share else f"{100 * share:.{digits}f} %"


def count(number: float | None, one: str, many: str | None = None) -> str:
    """A number and its noun: `1 task`, `3,000 tasks`, `0.5 cores`."""
    number = int(number or 0) if float(number or 0).is_integer() else number
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th."""
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def short_digest(digest: str | None, length: int = 12) -> str | Markup:
    """The first digits of a digest, the whole one on hover."""
    if not digest:
        return _MISSING
    bare = digest.removeprefix("sha256:")
    return Markup('<code class="digest" title="{}">{}</code>').format(digest, bare[:length])


def sentence(words: str) -> str:
    """Words that begin small, as a sentence; nothing stays nothing."""
    return f"{words[0].upper()}{words[1:].rstrip('.')}." if words else ""


def codes(text: str) -> Markup:
    """Plain text in which `words in backticks` become code."""
    parts = escape(text).split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in enumerate(parts)
    )


def as_option(value: str) -> tuple[str, str]:
    """A word as an option of a choice that shows it as it is."""
    return value, value


FILTERS = {
    "when": when,
    "duration": duration,
    "size": size,
    "score": score,
    "interval": interval,
    "percent": percent,
    "count": count,
    "ordinal": ordinal,
    "short_digest": short_digest,
    "sentence": sentence,
    "as_option": as_option,
    "codes": codes,
}
