"""Fetches the images of the task that is due, from the frame or from the shared buffer, as floats."""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING

import numpy as np

from anyshot_core.episodes.memory import Memory
from anyshot_core.wire.messages import INLINE, ImagesHeader
from anyshot_starting_kit.episodes.tensors import floats, read_floats, to_float

if TYPE_CHECKING:
    import torch


class Images:
    """Where the images of a task come from, and the memory in which they become floats."""

    def __init__(self, shared: str | None, mapped: bool) -> None:
        """`shared` is the path of the shared buffer; `mapped` says that a mapping of it follows what is written."""
        self._shared, self._mapped = shared, mapped
        self._mapping: mmap.mmap | None = None
        self._memory = Memory()

    def fetch(self, images: ImagesHeader, inline: memoryview) -> torch.Tensor:
        """float32 [n, c, h, w] in [0, 1]. Raises OSError where the shared buffer has less than announced."""
        target = floats(self._memory, images.shape)
        if images.place == INLINE:
            return _convert(inline, images, target)
        if self._shared is None:
            raise OSError("the task is in a shared buffer that this sandbox has not")
        if images.pixel_bytes and self._mapped:
            return _convert(self._map(self._shared, images.pixel_bytes), images, target)
        _read(self._shared, images, target.numpy())
        return target

    def _map(self, shared: str, size: int) -> mmap.mmap:
        """The buffer, mapped anew where it has grown."""
        if self._mapping is None or len(self._mapping) < size:
            descriptor = os.open(shared, os.O_RDONLY | os.O_CLOEXEC)
            try:
                there = os.fstat(descriptor).st_size
                _require(there >= size)
                self._mapping = mmap.mmap(descriptor, there, prot=mmap.PROT_READ)
            finally:
                os.close(descriptor)
        return self._mapping


def _convert(source: memoryview | mmap.mmap, images: ImagesHeader, target: torch.Tensor) -> torch.Tensor:
    pixels = np.frombuffer(source, dtype=np.uint8, count=images.pixel_bytes).reshape(images.shape)
    return to_float(pixels, out=target)


def _read(shared: str, images: ImagesHeader, target: np.ndarray) -> None:
    with open(shared, "rb", buffering=0) as file:  # noqa: PTH123
        descriptor, shape = file.fileno(), images.shape[1:]
        size = int(np.prod(shape))
        read_floats(
            lambda first, few: _read_fully(descriptor, few.reshape(-1).data, first * size), target, shape
        )


def _read_fully(descriptor: int, target: memoryview, offset: int) -> None:
    done = 0
    while done < len(target):
        count = os.preadv(descriptor, [target[done:]], offset + done)
        _require(count > 0)
        done += count


def _require(enough: bool) -> None:
    if not enough:
        raise OSError("the shared buffer is shorter than announced")
