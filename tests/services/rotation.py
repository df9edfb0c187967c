"""Long lists of which CI runs a slice that rotates: mark a test `rotating`.

`ANYSHOT_ROTATE=all` runs all; `ANYSHOT_ROTATE=k/n` runs the k-th of n slices (k counts on, modulo n); without it,
everything runs but tests marked `full`. A list marked `rotating(4)` is cut into four times as many slices; one that is
marked `full` too runs in slices, or whole where all was asked for.
A test that is left to another slice is deselected, and the summary says how many were.
"""

from __future__ import annotations

import hashlib
import os

import pytest


def slice_of(node_id: str, slices: int) -> int:
    """The slice that a test falls into: stable, whatever else is in the list."""
    return int.from_bytes(hashlib.sha256(node_id.encode()).digest()[:4], "big") % slices


def finer_by(item: pytest.Item) -> int:
    """How many times as many slices the item's list has; 0 for an item that does not rotate."""
    return max((mark.args[0] if mark.args else 1 for mark in item.iter_markers("rotating")), default=0)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the rotating tests of the other slices, and those marked `full` where not all was asked for."""
    wanted = os.environ.get("ANYSHOT_ROTATE")
    if wanted == "all":
        return
    number, _, slices = (wanted or "0/0").partition("/")
    kept, left = [], []
    for item in items:
        count = int(slices) * finer_by(item)
        full = item.get_closest_marker("full") is not None
        mine = slice_of(item.nodeid, count) == int(number) % count if count else not full
        (kept if mine else left).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept
