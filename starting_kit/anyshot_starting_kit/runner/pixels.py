"""Fetches the pixels of the task that is due, from the frame or from the shared buffer."""

from __future__ import annotations

import os

import numpy as np

from anyshot_starting_kit.wire.messages import INLINE, ImagesHeader


def fetch_pixels(images: ImagesHeader, inline: memoryview, shared: str | None) -> np.ndarray:
    """uint8 [n, c, h, w], an own copy. Raises OSError where the shared buffer has less than announced."""
    if images.place == INLINE:
        return np.frombuffer(inline, dtype=np.uint8, count=images.pixel_bytes).reshape(images.shape).copy()
    if shared is None:
        raise OSError("the task is in a shared buffer that this sandbox has not")
    pixels = np.empty(images.shape, dtype=np.uint8)
    # read, not mapped: some sandboxes keep stale pages of a mapped file
    with open(shared, "rb", buffering=0) as file:  # noqa: PTH123
        _read_fully(file.fileno(), pixels.reshape(-1).data)
    return pixels


def _read_fully(descriptor: int, target: memoryview) -> None:
    done = 0
    while done < len(target):
        count = os.preadv(descriptor, [target[done:]], done)
        if not count:
            raise OSError("the shared buffer is shorter than announced")
        done += count
