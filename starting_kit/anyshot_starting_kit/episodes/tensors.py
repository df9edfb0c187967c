"""uint8 pixels to float32 tensors in [0, 1]. Torch is imported when the first tensor is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anyshot_starting_kit.data.images import IMAGE_SHAPE
from anyshot_starting_kit.data.pack import Pack
from anyshot_starting_kit.episodes.prefetch import ROOM

if TYPE_CHECKING:
    import torch

_WHITE = np.float32(255)
_CHUNK = (
    4  # images converted at a time: 192 KiB of bytes and 768 KiB of floats stay in the second-level cache
)


def to_float(
    images: np.ndarray, out: torch.Tensor | None = None, device: torch.device | str | None = None
) -> torch.Tensor:
    """uint8 `[n, ...]` to float32 in [0, 1], bit for bit what torchvision's `to_tensor` gives.

    On the CPU the division runs straight into `out` (float32, contiguous, at least n rows) where given, in one pass
    over the memory; a fresh tensor costs several times as much. For a GPU the bytes travel and are converted there.
    """
    import torch

    if device is not None and torch.device(device).type != "cpu":
        return torch.from_numpy(images).to(device, non_blocking=True).float().div_(255.0)
    target = torch.empty(images.shape, dtype=torch.float32) if out is None else out[: len(images)]
    np.divide(images, _WHITE, out=target.numpy(), dtype=np.float32)
    return target


class FloatSlots:
    """Buffers for tasks as float tensors on one device, one a task in memory; they grow to what they are asked for."""

    def __init__(self, device: torch.device | str, count: int, reuse: bool) -> None:
        import torch

        self.device = torch.device(device)
        self._reuse = reuse
        self._pinned = self.device.type == "cuda"
        self._slots: list[torch.Tensor | None] = [None] * count
        self._copied: list[torch.cuda.Event | None] = [None] * count

    def load(self, number: int, pack: Pack, rows: np.ndarray) -> torch.Tensor:
        """Images of the task with that running number, float32 `[n, 3, 128, 128]`."""
        return self._load_cuda(number, pack, rows) if self._pinned else self._load_cpu(number, pack, rows)

    def _load_cpu(self, number: int, pack: Pack, rows: np.ndarray) -> torch.Tensor:
        import torch

        target = self._buffer(number, len(rows), torch.float32)
        image = np.empty(IMAGE_SHAPE, dtype=np.uint8)  # stays in the cache, as the floats of one image do
        pixels = memoryview(image.reshape(-1).data)
        for floats, row in zip(target.numpy(), rows.tolist(), strict=True):
            pack.read_row(row, pixels)
            np.copyto(floats, image)
            np.divide(floats, _WHITE, out=floats)
        return target.to(self.device)

    def _load_cuda(self, number: int, pack: Pack, rows: np.ndarray) -> torch.Tensor:
        import torch

        place = number % len(self._slots)
        copied = self._copied[place]
        if copied is not None:
            copied.synchronize()  # the pinned bytes of the task before may still be on their way
        pinned = self._buffer(number, len(rows), torch.uint8)
        pack.read_rows(rows, pinned.numpy())
        images = pinned.to(self.device, non_blocking=True).float().div_(255.0)
        event = torch.cuda.Event()
        event.record(torch.cuda.current_stream(self.device))
        self._copied[place] = event
        return images

    def _buffer(self, number: int, count: int, dtype: torch.dtype) -> torch.Tensor:
        import torch

        place = number % len(self._slots)
        held = self._slots[place]
        if held is None or len(held) < count or not (self._reuse or self._pinned):
            room = max(count, ROOM) if self._reuse and not self._pinned else count
            held = torch.empty((room, *IMAGE_SHAPE), dtype=dtype, pin_memory=self._pinned)
            self._slots[place] = held
        return held[:count]
