"""Training pools whose images lie on the device, and where a training's generators put what they draw."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
import torch
from torch import Tensor

from anyshot_core.data.images import IMAGE_BYTES, IMAGE_SHAPE
from anyshot_core.data.pool import Pool
from anyshot_core.episodes.prefetch import PrefetchSlot, prefetch
from anyshot_core.episodes.stream import AHEAD, THREADS
from anyshot_core.protocols.task import TaskSpec
from anyshot_starting_kit.episodes.tensors import FloatSlots, divided

SHARE = 0.5  # of a GPU's free memory that a pool's bytes may take
_AT_ONCE = 4096  # images that are read at a time: 192 MiB


def fits(pool: Pool, device: torch.device) -> bool:
    """Whether a pool is kept on a device: on a GPU, where its bytes take no more than their share of what is free."""
    if device.type != "cuda":
        return False
    free, _ = torch.cuda.mem_get_info(device)
    return sum(map(len, pool)) * IMAGE_BYTES <= SHARE * free


class ResidentPool:
    """All images of a pool as bytes on one device; each pack is read once."""

    def __init__(self, pool: Pool, device: torch.device | str) -> None:
        self.starts = np.cumsum([0, *map(len, pool)])
        self.images = torch.empty((int(self.starts[-1]), *IMAGE_SHAPE), dtype=torch.uint8, device=device)
        for pack, start in zip(pool, self.starts.tolist(), strict=False):
            for first in range(0, len(pack), _AT_ONCE):
                rows = np.arange(first, min(first + _AT_ONCE, len(pack)))
                pixels = pack.read_rows(rows, np.empty((len(rows), *IMAGE_SHAPE), dtype=np.uint8))
                self.images[start + first : start + first + len(rows)] = torch.from_numpy(pixels)

    def of_task(self, spec: TaskSpec) -> Tensor:
        """A task's images, float32 `[support + query, 3, 128, 128]` in [0, 1], support first."""
        return self.floats(self.starts[spec.dataset] + spec.rows)

    def floats(self, rows: np.ndarray) -> Tensor:
        """Images by their rows in the concatenated packs, float32 `[n, 3, 128, 128]` in [0, 1]."""
        index = torch.from_numpy(rows).to(self.images.device)
        return divided(self.images.index_select(0, index))


class Drawing:
    """The device that generators draw to, and the pools that lie there, each read when it is first drawn from."""

    def __init__(self, device: torch.device, keep: bool | None) -> None:
        self._device, self._keep = device, keep
        self._pools: dict[int, tuple[Pool, ResidentPool | None]] = {}

    def resident(self, pool: Pool) -> ResidentPool | None:
        """The pool on the device; None where it does not fit."""
        if id(pool) not in self._pools:
            keep = fits(pool, self._device) if self._keep is None else self._keep
            self._pools[id(pool)] = pool, ResidentPool(pool, self._device) if keep else None
        return self._pools[id(pool)][1]

    def load(self, pool: Pool, specs: Iterable[TaskSpec]) -> Iterator[tuple[TaskSpec, Tensor]]:
        """Tasks with their images on the device: by index where the pool lies there, else read ahead."""
        if resident := self.resident(pool):
            return ((spec, resident.of_task(spec)) for spec in specs)
        slots = FloatSlots(self._device, AHEAD + 1)

        def read(job: tuple[int, TaskSpec], _: PrefetchSlot) -> tuple[TaskSpec, Tensor]:
            number, spec = job
            return spec, slots.load(number, pool[spec.dataset], spec.rows)

        return prefetch(enumerate(specs), read, ahead=AHEAD, threads=THREADS, reuse=True)


_DRAWING: ContextVar[Drawing | None] = ContextVar("anyshot_drawing", default=None)


@contextmanager
def drawn_on(device: torch.device | str, keep: bool | None = None) -> Iterator[None]:
    """The kit's generators yield images on `device`; labels stay on the CPU, and so do images outside of it.

    `keep` says whether pools are kept there; by default `fits` decides, and nothing changes on the CPU.
    """
    where = torch.device(device)
    token = _DRAWING.set(None if keep is None and where.type == "cpu" else Drawing(where, keep))
    try:
        yield
    finally:
        _DRAWING.reset(token)


def drawing() -> Drawing | None:
    """Where generators draw to; None for the CPU, task by task."""
    return _DRAWING.get()
