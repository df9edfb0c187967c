"""uint8 pixels to float32 tensors in [0, 1], of tasks in a row too. Torch is imported when a tensor is made."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anyshot_core.data.images import IMAGE_SHAPE
from anyshot_core.data.pack import Pack
from anyshot_core.data.pool import Pool
from anyshot_core.episodes.memory import Memory
from anyshot_core.episodes.prefetch import PrefetchSlot, prefetch
from anyshot_core.episodes.stream import AHEAD, THREADS
from anyshot_core.protocols.task import Protocol, TaskSpec

if TYPE_CHECKING:
    import torch

    from anyshot_starting_kit.episodes.residence import ResidentPool

_WHITE = np.float32(255)
READERS = 8  # threads at most that read a task for a GPU; one reads some 2.5 GB/s
_PART = 32  # images that such a thread reads at a time
_AT_ONCE = 128  # images converted at a time; with fewer, the calls cost more than the cache saves


def floats(memory: Memory, shape: tuple[int, ...]) -> torch.Tensor:
    """An uninitialized float32 tensor on the CPU, on memory that is used again when nobody holds the tensor."""
    import torch

    return torch.from_numpy(memory.array(shape, np.float32))


def read_floats(
    read: Callable[[int, np.ndarray], object], out: np.ndarray, shape: tuple[int, ...] = IMAGE_SHAPE
) -> None:
    """Fill `out`, float32 `[n, *shape]`, C-contiguous, in one pass over the memory.

    `read(first, pixels)` puts the bytes of the images from number `first` on into `pixels`, uint8 `[m, *shape]`.
    """
    few = np.empty((min(_AT_ONCE, len(out)), *shape), dtype=np.uint8)
    for first in range(0, len(out), _AT_ONCE):
        floats = out[first : first + _AT_ONCE]
        read(first, few[: len(floats)])
        np.divide(few[: len(floats)], _WHITE, out=floats, dtype=np.float32)


def read_pack_floats(pack: Pack, rows: np.ndarray, out: np.ndarray) -> None:
    """Images of a pack as float32 in [0, 1] into `out`, `[n, 3, 128, 128]`, in the order of `rows`."""
    read_floats(lambda first, pixels: pack.read_rows(rows[first : first + len(pixels)], pixels), out)


def read_in_parts(pack: Pack, rows: np.ndarray, out: np.ndarray, readers: Executor) -> None:
    """Images of a pack into `out`, uint8 `[n, 3, 128, 128]`, in the order of `rows`, read by several threads."""
    firsts = range(0, len(rows), _PART)
    reads = [readers.submit(pack.read_rows, rows[at : at + _PART], out[at : at + _PART]) for at in firsts]
    for read in reads:
        read.result()


def to_float(
    images: np.ndarray, out: torch.Tensor | None = None, device: torch.device | str | None = None
) -> torch.Tensor:
    """uint8 `[n, ...]` to float32 in [0, 1], bit for bit what torchvision's `to_tensor` gives.

    On the CPU the division runs straight into `out` (float32, contiguous, at least n rows) where given, in one pass
    over the memory; a fresh tensor costs several times as much. For a GPU the bytes travel and are converted there.
    """
    import torch

    if device is not None and torch.device(device).type != "cpu":
        return divided(torch.from_numpy(images).to(device, non_blocking=True))
    target = torch.empty(images.shape, dtype=torch.float32) if out is None else out[: len(images)]
    np.divide(images, _WHITE, out=target.numpy(), dtype=np.float32)
    return target


def divided(images: torch.Tensor) -> torch.Tensor:
    """uint8 to float32 in [0, 1] on the images' own device.

    The divisor lies there too: CUDA multiplies by the reciprocal of a plain number, which is another float32 for 126
    of the 256 values.
    """
    import torch

    return images.float().div_(torch.full((), 255.0, device=images.device))


class FloatSlots:
    """Where tasks become float tensors on one device, `count` tasks ahead at most.

    On the CPU the memory of a tensor is used again when nobody holds it any more (`Memory`). For CUDA the bytes
    wait in pinned buffers, one a task in flight, which grow to what they are asked for, and several threads read into
    one at once.
    """

    def __init__(self, device: torch.device | str, count: int) -> None:
        import torch

        self.device = torch.device(device)
        self._memory = Memory(count + 1)
        self._pinned: list[torch.Tensor | None] = [None] * count
        self._copied: list[torch.cuda.Event | None] = [None] * count
        self._readers = ThreadPoolExecutor(min(READERS, os.cpu_count() or 1), "anyshot-reader")

    def load(self, number: int, pack: Pack, rows: np.ndarray) -> torch.Tensor:
        """Images of the task with that running number, float32 `[n, 3, 128, 128]`."""
        if self.device.type == "cuda":
            return self._load_cuda(number % len(self._pinned), pack, rows)
        images = floats(self._memory, (len(rows), *IMAGE_SHAPE))
        read_pack_floats(pack, rows, images.numpy())
        return images.to(self.device)

    def _load_cuda(self, place: int, pack: Pack, rows: np.ndarray) -> torch.Tensor:
        import torch

        copied = self._copied[place]
        if copied is not None:
            copied.synchronize()  # the pinned bytes of the task before may still be on their way
        pinned = self._buffer(place, len(rows))
        read_in_parts(pack, rows, pinned.numpy(), self._readers)
        images = divided(pinned.to(self.device, non_blocking=True))
        event = torch.cuda.Event()
        event.record(torch.cuda.current_stream(self.device))
        self._copied[place] = event
        return images

    def _buffer(self, place: int, count: int) -> torch.Tensor:
        import torch

        held = self._pinned[place]
        if held is None or len(held) < count:
            held = torch.empty((count, *IMAGE_SHAPE), dtype=torch.uint8, pin_memory=True)
            self._pinned[place] = held
        return held[:count]


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
    resident: ResidentPool | None = None,
) -> Iterator[TaskTensors]:
    """As `stream`, but as float32 tensors in [0, 1] on `device`, which stay as they are for as long as they are held.

    On the CPU the threads convert a few images at a time, while their bytes are in the cache, into memory that is
    used again when nobody holds the tensors on it. For CUDA they read into pinned memory, from where the bytes travel
    asynchronously and are converted on the GPU. With `resident`, the same pool on a device (`episodes.residence`),
    threads only draw, and images are gathered there.
    """
    slots = FloatSlots(device, ahead + 1)

    def read(index: int, _: PrefetchSlot) -> TaskTensors:
        spec = protocol.task(pool, seed, index)
        if resident is not None:
            return TaskTensors(spec, resident.of_task(spec))
        return TaskTensors(spec, slots.load(index - start, pool[spec.dataset], spec.rows))

    return prefetch(range(start, start + count), read, ahead=ahead, threads=threads, reuse=True)
