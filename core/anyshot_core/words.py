"""Words of English sentences. It loads nothing, so that who needs a word does not wait for a chart."""

from __future__ import annotations


def count_of(number: float, noun: str, many: str = "") -> str:
    """`4 cores`, `0.5 cores`, `1 core`; `many` is the plural where it is not the noun with an s."""
    return f"{number:g} {noun if number == 1 else many or noun + 's'}"


def number_words(value: float) -> str:
    """Four significant digits; below a millionth digits say nothing, and what is 0 has no sign."""
    if 0 < abs(value) < 1e-6:
        return "under 1e-6" if value > 0 else "above -1e-6"
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:z.4g}"
