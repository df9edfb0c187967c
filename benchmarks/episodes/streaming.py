"""The stream against the peer and against `numpy.copyto`, round by round, so that a busy machine slows all alike."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anyshot_core.data.images import IMAGE_BYTES
from anyshot_core.data.pool import Pool
from anyshot_core.protocols import Protocol
from anyshot_starting_kit.episodes import stream, stream_tensors
from benchmarks.episodes.peer import load_task
from benchmarks.rates import Rate

SEED = 2022
WORKING_SET = 512 << 20  # bytes; last-level caches are smaller


@dataclass(frozen=True)
class Round:
    """One round of all contestants."""

    peer: Rate
    bytes_: Rate
    floats: Rate
    copy: Rate


def median(values: Iterable[float]) -> float:
    """The median of a few numbers."""
    return float(np.median(list(values)))


def one_round(pool: Pool, files: list[list[Path]], protocol: Protocol, number: int, scale: int) -> Round:
    """Other tasks in each round; the peer gets fewer of them, rates are per image."""
    return Round(
        peer=Rate.of(lambda: peer_images(pool, files, protocol, number * scale, max(scale // 12, 3))),
        bytes_=Rate.of(lambda: byte_images(pool, protocol, number * scale, scale)),
        floats=Rate.of(lambda: float_images(pool, protocol, number * scale, scale)),
        copy=Rate.of(lambda: copied_images(scale)),
    )


def peer_images(pool: Pool, files: list[list[Path]], protocol: Protocol, start: int, count: int) -> int:
    """Serve tasks as the 2022 kit does."""
    return sum(
        sum(map(len, load_task(files, protocol.task(pool, SEED, index))))
        for index in range(start, start + count)
    )


def byte_images(pool: Pool, protocol: Protocol, start: int, count: int) -> int:
    """Our uint8 stream."""
    return sum(len(task.images) for task in stream(pool, protocol, SEED, count, start=start, reuse=True))


def float_images(pool: Pool, protocol: Protocol, start: int, count: int) -> int:
    """Our float32 stream."""
    return sum(len(task.images) for task in stream_tensors(pool, protocol, SEED, count, start=start))


_BUFFERS: list[np.ndarray] = []


def copied_images(tasks: int) -> int:
    """Copy as many bytes as that many tasks of 335 images have, task by task, through two large arrays."""
    if not _BUFFERS:
        _BUFFERS.extend(np.ones(WORKING_SET // 2, dtype=np.uint8) for _ in range(2))
    source, target = _BUFFERS
    size = 335 * IMAGE_BYTES
    at = 0
    for _ in range(tasks):
        at = 0 if at + size > len(source) else at
        np.copyto(target[at : at + size], source[at : at + size])
        at += size
    return tasks * 335
