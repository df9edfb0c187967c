"""Numbers that come as text, from headers, forms and addresses of pages; and half widths, as JSON has them."""

from typing import Annotated

from pydantic import Field, PlainSerializer

from anyshot_core.browser_charts.numbers import known_half

HalfWidth = Annotated[
    float | None,
    PlainSerializer(known_half, return_type=float | None),  # of 0 pages say that all tasks are equal
    Field(
        description="of the 95 % interval over tasks; null where it is undefined: of one task, or of equal ones"
    ),
]
MOST = 2**31 - 1  # what an integer column holds


def small_number(text: str) -> int | None:
    """The whole number that ASCII digits write, with a sign or not; None for anything else or beyond 32 bits."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 10):
        return None
    number = int(text)
    return number if -MOST <= number <= MOST else None


def line_id(text: str | None) -> int:
    """The id of a log line that a browser has seen last; 0 for what is none."""
    if text is None or not (text.isascii() and text.isdecimal() and len(text) <= 18):
        return 0
    return int(text)
