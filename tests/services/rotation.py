"""Long tests and long lists of which a run takes a slice: what is marked `rotating`, `slow` or `seconds`.

`ANYSHOT_ROTATE=all` runs all; `ANYSHOT_ROTATE=k/n` runs the k-th of n slices (k counts on, modulo n); without it,
everything runs but tests marked `full`. `make test` takes the slice of the number of commits, modulo 20, so that a
landing of several commits skips the slices between; `make test-all` runs all. A list marked `rotating(2)` is cut into
twice as many slices; one that is marked `full` too runs in slices, or whole where all was asked for. What is marked
`rotating(together=True)` stays in one slice with its file. Of what is marked `seconds`, four slices of `make test`
in a row have a quarter each. A test marked `slow("why", each_time=True)`, or `seconds` so, does not rotate.
A test that is left to another slice is deselected, and the summary says how many were.
"""

import os
from collections import defaultdict
from fractions import Fraction
from math import ceil

import pytest

SECONDS = Fraction(1, 5)  # four slices where there are twenty


def finer_by(item: pytest.Item) -> Fraction:
    """How many times as many slices the item's list has; 0 for an item that does not rotate."""
    if finest := max((mark.args[0] if mark.args else 1 for mark in item.iter_markers("rotating")), default=0):
        return Fraction(finest)
    for name, finer in (("slow", Fraction(1)), ("seconds", SECONDS)):
        if mark := item.get_closest_marker(name):
            return Fraction(0) if mark.kwargs.get("each_time", False) else finer
    return Fraction(0)


def _together(item: pytest.Item) -> bool:
    """Whether the test stays in one slice with those of its file, which share what is dear."""
    return any(mark.kwargs.get("together", False) for mark in item.iter_markers("rotating"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the rotating tests of the other slices, and those marked `full` where not all was asked for.

    Slices take turns from test to test, so that those which follow each other, and cost alike, lie in different ones.
    """
    wanted = os.environ.get("ANYSHOT_ROTATE")
    if wanted == "all":
        return
    number, _, slices = (wanted or "0/0").partition("/")
    kept, left = [], []
    turns: dict[int, dict[str, int]] = defaultdict(dict)  # what is rotated as one, in its order
    for item in items:
        count = ceil(int(slices) * finer_by(item))
        mine = item.get_closest_marker("full") is None
        if count:
            one = item.nodeid.partition("::")[0] if _together(item) else item.nodeid
            turn = turns[count].setdefault(one, len(turns[count]))
            mine = turn % count == int(number) % count
        (kept if mine else left).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept
