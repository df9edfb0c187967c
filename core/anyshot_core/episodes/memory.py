"""Memory for images that is given out again once nobody holds it.

A task of 335 images is 66 MB of floats. Fresh memory of that size costs a page fault every 4 KiB, several times what
the conversion costs, so what a task leaves behind is kept for the next. A participant may keep a tensor for as long
as they like: as long as any tensor or array on a piece of memory is alive, nothing else is written there.
"""

import math
import threading
import weakref
from dataclasses import dataclass

import numpy as np

_ROUNDED_TO = 2 << 20  # bytes; memory that is never written to costs nothing


@dataclass(eq=False)
class _Piece:
    memory: np.ndarray  # uint8, flat
    lent: weakref.ref[np.ndarray] | None = None

    @property
    def free(self) -> bool:
        return self.lent is None or self.lent() is None

    def lend(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        # On a memoryview, and not on the array: every view and tensor made of what is lent refers to it then
        # (NumPy would pass over it to `memory`), so that it lives exactly as long as they do.
        lent = np.frombuffer(self.memory.data, dtype=dtype, count=math.prod(shape))
        self.lent = weakref.ref(lent)
        return lent.reshape(shape)


class Memory:
    """Arrays on memory that is used again when the last of them, and of their tensors, is gone; safe in threads."""

    def __init__(self, keep: int = 4) -> None:
        """`keep` pieces of memory at most wait for their next use; the smallest go first."""
        self._keep = keep
        self._pieces: list[_Piece] = []
        self._guard = threading.Lock()

    def array(self, shape: tuple[int, ...], dtype: type[np.generic] = np.uint8) -> np.ndarray:
        """An uninitialized array, C-contiguous."""
        kind = np.dtype(dtype)
        size = max(math.prod(shape) * kind.itemsize, 1)
        with self._guard:
            free = sorted((piece for piece in self._pieces if piece.free), key=_size)
            chosen = next((piece for piece in free if _size(piece) >= size), None)
            if chosen is None:
                chosen = _Piece(np.empty(-(-size // _ROUNDED_TO) * _ROUNDED_TO, dtype=np.uint8))
            else:
                free.remove(chosen)
            lent = [piece for piece in self._pieces if not piece.free]
            self._pieces = [*lent, *free[max(0, len(free) - self._keep) :], chosen]
            return chosen.lend(shape, kind)


def _size(piece: _Piece) -> int:
    return len(piece.memory)
