"""The file into which a meta-learner saves itself while it trains."""

from pathlib import Path
from typing import BinaryIO

_PAUSE = 20  # times as long as the last one took to come, until the next one may begin


class TooMuch(Exception):
    """More than a runner of ours sends; the text says of what."""


class CheckpointFile:
    """Takes the pieces of one checkpoint after another; the last that came whole is in the file.

    A runner waits longer between two than is demanded here; code that has taken one over could keep the disk busy.
    """

    def __init__(self, target: Path | None, most: int, pause: float, now: float) -> None:
        """`most` bytes in one, `pause` seconds between two; no target: none is wanted."""
        self._target, self._most, self._pause = target, most, pause
        self._file: BinaryIO | None = None
        self._earliest = now
        self._began = self._size = 0.0

    def expect(self) -> None:
        """One may begin now, since it was asked for."""
        self._earliest = 0.0

    def close(self) -> None:
        """Nothing more comes."""
        if self._file is not None:
            self._file.close()

    def take(self, piece: bytes, at: float) -> Path | None:
        """Write a piece that was there at that moment; the file, when an empty piece ends it. Raises TooMuch."""
        if self._target is None:
            raise TooMuch("a checkpoint that nobody asked for")
        part = self._target.with_suffix(".part")
        if self._file is None:
            if at < self._earliest:
                raise TooMuch("checkpoints in quick succession")
            self._file, self._began, self._size = part.open("wb"), at, 0
        self._file.write(piece)
        self._size += len(piece)
        if self._size > self._most:
            raise TooMuch(f"a checkpoint beyond the limit of {self._most >> 20} MiB")
        if piece:
            return None
        self._file.close()
        self._file = None
        self._earliest = at + max(self._pause / 2, _PAUSE * (at - self._began))
        part.replace(self._target)
        return self._target
