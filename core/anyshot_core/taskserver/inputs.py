"""What a runner may read: packs linked into a mounted folder, pixels written into a shared file."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from types import TracebackType

import numpy as np


class SharedPixels:
    """The writing end of the shared buffer: the images of the set that is due.

    Behind them lies what is left of earlier sets; the same runner was shown it, so wiping would gain nothing.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._content = np.empty(0, dtype=np.uint8)

    def show(self, images: np.ndarray, order: np.ndarray | None = None) -> None:
        """Replace the content by `images` (uint8), in that order where one is given.

        Raises OSError when the file system is full.
        """
        if images.size > self._content.size:
            self._grow(images.size)
        shown = self._content[: images.size].reshape(images.shape)
        if order is None:
            np.copyto(shown, images)
        else:
            np.take(
                images, order, axis=0, out=shown, mode="clip"
            )  # "raise" would gather into a second buffer

    def wipe(self) -> None:
        """Give the lent memory back, and with it the images of this run."""
        self._content = np.empty(0, dtype=np.uint8)
        os.ftruncate(self._file, 0)

    def close(self) -> None:
        self._content = np.empty(0, dtype=np.uint8)
        os.close(self._file)

    def _grow(self, size: int) -> None:
        """Take the room for good, so that a full file system is an error here and not a signal while writing."""
        os.posix_fallocate(self._file, 0, size)
        self._content = np.frombuffer(mmap.mmap(self._file, size), dtype=np.uint8)

    def __enter__(self) -> SharedPixels:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()
