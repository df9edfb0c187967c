"""How pages write dates, durations, sizes, scores: one function a kind of value."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from babel.dates import format_datetime
from markupsafe import Markup, escape

from anyshot_core.chances import chance_words
from anyshot_platform.kernel.language import (
    Amount,
    Said,
    all_said_here,
    here,
    said_here,
    say,
    say_count,
    translated,
)

_MISSING = Markup('<span class="faint">–</span>')
_UNITS = (say("B"), say("KiB"), say("MiB"), say("GiB"), say("TiB"))


def in_utc(moment: datetime) -> datetime:
    """The moment in UTC; naive ones are taken as UTC, as the database keeps them."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def when(moment: datetime | None, style: Literal["short", "both", "ago"] = "short") -> Markup:
    """A `<time>` in UTC that site.js rewrites in the reader's zone; `both` keeps UTC visible beside it."""
    if moment is None:
        return _MISSING
    utc = in_utc(moment)
    shown = format_datetime(utc, "d MMM y, HH:mm", locale=here().replace("-", "_")) + " UTC"
    return Markup('<time datetime="{}" data-when="{}" title="{}">{}</time>').format(
        utc.isoformat(timespec="seconds"), style, shown, shown
    )


def duration(seconds: float | None) -> str | Markup:
    """Seconds as a person says them: `0.4 s`, `12 s`, `3 min 5 s`, `5 h 10 min`."""
    if seconds is None:
        return _MISSING
    if seconds < 0:
        return say("−%(duration)s", duration=duration(-seconds))
    if seconds == 0:
        return say("%(number)s s", number=0)
    if seconds < 0.0995:
        return say("%(number)s ms", number=Amount(seconds * 1000, 0))
    if seconds < 9.95:
        return say("%(number)s s", number=Amount(seconds, 1))
    whole = round(seconds)
    if whole < 60:
        return say("%(number)s s", number=whole)
    if whole < 3600:
        return _two_units(whole // 60, say("min"), whole % 60, say("s"))
    if whole < 86400:
        return _two_units(whole // 3600, say("h"), whole % 3600 // 60, say("min"))
    return _two_units(whole // 86400, say("d"), whole % 86400 // 3600, say("h"))


def _two_units(large: int, large_name: str, small: int, small_name: str) -> str:
    first = say("%(number)s %(unit)s", number=large, unit=large_name)
    if not small:
        return first
    return say("%(large)s %(number)s %(unit)s", large=first, number=small, unit=small_name)


def size(octets: int | None) -> str | Markup:
    """Bytes in binary units: `0 B`, `1.4 MiB`."""
    if octets is None:
        return _MISSING
    amount, unit = float(octets), _UNITS[0]
    for unit in _UNITS:
        if amount < 1024 or unit == _UNITS[-1]:
            break
        amount /= 1024
    digits = 0 if unit == _UNITS[0] or amount >= 100 else 1
    return say("%(number)s %(unit)s", number=Amount(amount, digits), unit=unit)


def score(value: float | None, digits: int = 3) -> str | Markup:
    """A score with a real minus sign; a dash where it is undefined."""
    if value is None or value != value:
        return _MISSING
    return f"{value:z.{digits}f}".replace("-", "−")


def interval(half_width: float | None, digits: int = 3) -> str:
    """The half width of an interval as ` ± 0.012`; nothing where it is undefined.

    Where it is 0 all tasks had one score, which says nothing of others: that is told in words.
    """
    if half_width is None or half_width != half_width:
        return ""
    return f"± {half_width:.{digits}f}" if half_width else say("(all tasks equal)")


def chance(probability: float) -> str:
    """A probability of a model: `0.83`, or `over 0.99`, since what rounds to 1 is no certainty."""
    how, _, bound = chance_words(probability).rpartition(" ")
    if not how:
        return bound
    return say("over %(bound)s", bound=bound) if how == "over" else say("under %(bound)s", bound=bound)


def percent(share: float | None, digits: int = 0) -> str | Markup:
    """A share in [0, 1] as a percentage."""
    if share is None or share != share:
        return _MISSING
    return say("%(number)s %%", number=Amount(100 * share, digits))


def count(number: float | None, one: str, many: str | None = None) -> Said:
    """A number and its noun: `1 task`, `3,000 tasks`, `0.5 cores`."""
    return say_count(number or 0, f"%(num)s {one}", f"%(num)s {many or one + 's'}")


def number(amount: float) -> Amount:
    """A number: `3,000`."""
    return Amount(amount)


def short_digest(digest: str | None, length: int = 12) -> str | Markup:
    """The first digits of a digest, the whole one on hover."""
    if not digest:
        return _MISSING
    bare = digest.removeprefix("sha256:")
    return Markup('<code class="digest" title="{}">{}</code>').format(digest, bare[:length])


def sentence(words: str) -> str:
    """Words that begin small, as a sentence; nothing stays nothing."""
    words = said_here(words)
    return f"{words[0].upper()}{words[1:].rstrip('.')}." if words else ""


def codes(text: str) -> Markup:
    """Plain text in which `words in backticks` become code."""
    parts = escape(said_here(text)).split("`")
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
    "number": number,
    "short_digest": short_digest,
    "sentence": sentence,
    "as_option": as_option,
    "codes": codes,
    "said": translated,
    "said_here": all_said_here,
}
