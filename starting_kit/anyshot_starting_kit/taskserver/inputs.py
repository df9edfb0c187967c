"""What a runner may read: packs linked into a mounted folder, pixels written into a shared file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy as np


def link_packs(packs: Sequence[Path], folder: Path) -> None:
    """Make the packs appear in `folder` as `0`, `1`, ..., by hard link where the file system allows, else by copy.

    The names say nothing; the mode lets any user read them. What lay there before is removed.
    """
    for old in folder.iterdir():
        old.unlink()
    for position, pack in enumerate(packs):
        target = folder / str(position)
        try:
            os.link(pack, target)
        except OSError:
            shutil.copyfile(pack, target)
            target.chmod(0o444)


class SharedPixels:
    """The writing end of the shared buffer: holds the images of the set that is due, and nothing else."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._size = os.fstat(self._file).st_size

    def show(self, images: np.ndarray) -> None:
        """Replace the content by `images` (uint8, C-contiguous). Raises OSError when the file system is full."""
        view = np.ascontiguousarray(images).reshape(-1).data
        if len(view) > self._size:
            os.ftruncate(self._file, len(view))
            self._size = len(view)
        done = 0
        while done < len(view):
            done += os.pwrite(self._file, view[done:], done)

    def wipe(self) -> None:
        """Forget the images."""
        os.ftruncate(self._file, 0)
        self._size = 0

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> SharedPixels:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()
