"""Fetches the images of the task that is due, from the frame or from the shared buffer, as floats."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from anyshot_starting_kit.episodes.memory import Memory
from anyshot_starting_kit.episodes.tensors import read_floats
from anyshot_starting_kit.wire.messages import INLINE, ImagesHeader

if TYPE_CHECKING:
    import torch


def fetch_images(
    images: ImagesHeader, inline: memoryview, shared: str | None, memory: Memory
) -> torch.Tensor:
    """float32 [n, c, h, w] in [0, 1]. Raises OSError where the shared buffer has less than announced."""
    floats = memory.floats(images.shape)
    target, shape = floats.numpy(), images.shape[1:]
    size = images.pixel_bytes // images.images if images.images else 0

    if images.place == INLINE:
        pixels = np.frombuffer(inline, dtype=np.uint8, count=images.pixel_bytes).reshape(images.shape)
        read_floats(lambda first, few: np.copyto(few, pixels[first : first + len(few)]), target, shape)
        return floats
    if shared is None:
        raise OSError("the task is in a shared buffer that this sandbox has not")
    # read, not mapped: some sandboxes keep stale pages of a mapped file
    with open(shared, "rb", buffering=0) as file:  # noqa: PTH123
        descriptor = file.fileno()
        read_floats(
            lambda first, few: _read_fully(descriptor, few.reshape(-1).data, first * size), target, shape
        )
    return floats


def _read_fully(descriptor: int, target: memoryview, offset: int) -> None:
    done = 0
    while done < len(target):
        count = os.preadv(descriptor, [target[done:]], offset + done)
        if not count:
            raise OSError("the shared buffer is shorter than announced")
        done += count
