"""Tasks in a row, prefetched, as float tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyshot_core.data.pool import Pool
from anyshot_core.episodes.prefetch import Slot, prefetch
from anyshot_core.episodes.stream import AHEAD, THREADS
from anyshot_core.protocols.task import Protocol, TaskSpec
from anyshot_starting_kit.episodes.tensors import FloatSlots

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class TaskTensors:
    """A task with its images as float32 in [0, 1], `[support + query, 3, 128, 128]`, support first."""

    spec: TaskSpec
    images: torch.Tensor

    @property
    def support(self) -> torch.Tensor:
        """Support images, float32 `[ways * shots, 3, 128, 128]`."""
        return self.images[: len(self.spec.support)]

    @property
    def query(self) -> torch.Tensor:
        """Query images, float32 `[n, 3, 128, 128]`."""
        return self.images[len(self.spec.support) :]


def stream_tensors(
    pool: Pool,
    protocol: Protocol,
    seed: int,
    count: int,
    *,
    start: int = 0,
    ahead: int = AHEAD,
    threads: int = THREADS,
    device: torch.device | str = "cpu",
) -> Iterator[TaskTensors]:
    """As `stream`, but as float32 tensors in [0, 1] on `device`, which stay as they are for as long as they are held.

    On the CPU the threads convert a few images at a time, while their bytes are in the cache, into memory that is
    used again when nobody holds the tensors on it. For CUDA they read into pinned memory, from where the bytes travel
    asynchronously and are converted on the GPU.
    """
    slots = FloatSlots(device, ahead + 1)

    def read(index: int, _: Slot) -> TaskTensors:
        spec = protocol.task(pool, seed, index)
        return TaskTensors(spec, slots.load(index - start, pool[spec.dataset], spec.rows))

    return prefetch(range(start, start + count), read, ahead=ahead, threads=threads, reuse=True)
