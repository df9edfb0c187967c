"""How pages write dates, durations, sizes, scores: one function a kind of value."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from markupsafe import Markup, escape

from anyshot_core.chances import chance_words
from anyshot_core.words import deadline_words, decimal_words, in_utc, moment_words, words_there

_MISSING = Markup('<span class="faint">–</span>')
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def list_of(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def when(moment: datetime | None, style: Literal["short", "both", "ago"] = "short") -> Markup:
    """A `<time>` in UTC that site.js rewrites in the reader's zone; `both` keeps UTC visible beside it."""
    if moment is None:
        return _MISSING
    utc, shown = in_utc(moment), moment_words(moment)
    return Markup('<time datetime="{}" data-when="{}" title="{}">{}</time>').format(
        utc.isoformat(timespec="seconds"), style, shown, shown
    )


def deadline(moment: datetime | None, zone: str, style: Literal["both", "ago"] = "both") -> Markup:
    """A `<time>` in UTC and in the zone that its organizer wrote; site.js puts the reader's zone before them."""
    if moment is None:
        return _MISSING
    shown = deadline_words(moment, zone)
    return Markup('<time datetime="{}" data-when="{}" data-there="{}" title="{}">{}</time>').format(
        in_utc(moment).isoformat(timespec="seconds"), style, words_there(moment, zone), shown, shown
    )


def duration(seconds: float | None) -> str | Markup:
    """Seconds as a person says them: `0.4 s`, `12 s`, `3 min 5 s`, `5 h 10 min`."""
    if seconds is None:
        return _MISSING
    if seconds < 0:
        return f"−{duration(-seconds)}"
    if seconds == 0:
        return "0 s"
    if seconds < 0.0995:
        return f"{decimal(seconds * 1000, 0)} ms"
    if seconds < 9.95:
        return f"{decimal(seconds, 1)} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return _two_units(whole // 60, "min", whole % 60, "s")
    if whole < 86400:
        return _two_units(whole // 3600, "h", whole % 3600 // 60, "min")
    return _two_units(whole // 86400, "d", whole % 86400 // 3600, "h")


def _two_units(large: int, large_name: str, small: int, small_name: str) -> str:
    return f"{large} {large_name} {small} {small_name}" if small else f"{large} {large_name}"


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
    return f"{decimal(amount, digits)} {unit}"


def score(value: float | None, digits: int = 3) -> str | Markup:
    """A score with a real minus sign; a dash where it is undefined."""
    if value is None or value != value:
        return _MISSING
    return decimal_words(value, digits)


def interval(half_width: float | None, digits: int = 3) -> str:
    """The half width of an interval as ` ± 0.012`; nothing where it is undefined.

    Where it is 0 all tasks had one score, which says nothing of others: that is told in words.
    """
    if half_width is None or half_width != half_width:
        return ""
    return f"± {half_width:.{digits}f}" if half_width else "(all tasks equal)"


def chance(probability: float) -> str:
    """A probability of a model: `0.83`, or `over 0.99`, since what rounds to 1 is no certainty."""
    how, _, bound = chance_words(probability).rpartition(" ")
    if not how:
        return bound
    return f"{how} {bound}"


def percent(share: float | None, digits: int = 0) -> str | Markup:
    """A share in [0, 1] as a percentage."""
    if share is None or share != share:
        return _MISSING
    return f"{decimal(100 * share, digits)} %"


def count(number: float | None, one: str, many: str | None = None) -> str:
    """A number and its noun: `1 task`, `3,000 tasks`, `0.5 cores`."""
    return f"{decimal(number or 0)} {one if number == 1 else many or one + 's'}"


def decimal(number: float, digits: int | None = None) -> str:
    """A number with commas: `3,000`; with so many decimals, or with the at most three that it needs."""
    if digits is not None:
        return decimal_words(number, digits)
    return decimal_words(number).rstrip("0").rstrip(".")


def join_texts(texts: Iterable[object], by: str = " ") -> str:
    """The texts one after another, without those that are empty."""
    return by.join(str(text) for text in texts if text)


def capitalized(words: str) -> str:
    """The words as the beginning of a line."""
    return words[:1].upper() + words[1:]


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
    "deadline": deadline,
    "moment": moment_words,
    "duration": duration,
    "size": size,
    "score": score,
    "interval": interval,
    "percent": percent,
    "count": count,
    "number": decimal,
    "short_digest": short_digest,
    "sentence": sentence,
    "as_option": as_option,
    "codes": codes,
}
