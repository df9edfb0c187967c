"""Numbers in English sentences. It loads nothing, so that who needs a word does not wait for a chart."""

from __future__ import annotations


def count_of(number: float, noun: str) -> str:
    """`4 cores`, `0.5 cores`, `1 core`."""
    return f"{number:g} {noun}{'' if number == 1 else 's'}"
