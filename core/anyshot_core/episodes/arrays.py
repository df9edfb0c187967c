"""A task's pixels: one vectorized gather from the map into one buffer."""

from dataclasses import dataclass

import numpy as np

from anyshot_core.data.images import IMAGE_SHAPE
from anyshot_core.data.pool import Pool
from anyshot_core.protocols.task import TaskSpec


@dataclass(frozen=True)
class TaskArrays:
    """A task with its pixels.

    `images` is uint8 `[support + query, 3, 128, 128]`, support first; `support` and `query` are views of it.
    """

    spec: TaskSpec
    images: np.ndarray

    @property
    def support(self) -> np.ndarray:
        """Support images, uint8 `[ways * shots, 3, 128, 128]`."""
        return self.images[: len(self.spec.support)]

    @property
    def query(self) -> np.ndarray:
        """Query images, uint8 `[n, 3, 128, 128]`."""
        return self.images[len(self.spec.support) :]


def gather(pool: Pool, spec: TaskSpec, out: np.ndarray | None = None) -> TaskArrays:
    """Copy a task's images from the map, each once.

    `out` is a buffer to fill, uint8 `[at least n, 3, 128, 128]`, C-contiguous; without it one is allocated.
    """
    return TaskArrays(spec, gather_rows(pool[spec.dataset].images, spec.rows, out))


def gather_rows(images: np.ndarray, rows: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Rows of `images` in the order asked for, in `out` or a new array."""
    target = np.empty((len(rows), *IMAGE_SHAPE), dtype=np.uint8) if out is None else out[: len(rows)]
    return np.take(images, rows, axis=0, out=target, mode="clip")  # "raise" would gather into a second buffer
