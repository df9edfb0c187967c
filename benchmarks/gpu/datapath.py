"""From packs to float tensors on the device: as a share of what the bus can carry, and against decoding files."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from anyshot_core.data.images import IMAGE_BYTES
from anyshot_core.protocols import Protocol, protocol_from_dict
from anyshot_starting_kit.episodes.residence import ResidentPool
from anyshot_starting_kit.episodes.tensors import read_pack_floats, stream_tensors
from benchmarks.baselines.manner_of_2022 import write_images
from benchmarks.episodes.peer import load_task
from benchmarks.figures import Figure, figure

if TYPE_CHECKING:
    from benchmarks.gpu.measure import Place

SEED = 93


def measure(place: Place) -> list[Figure]:
    """The stream of tasks against a bare copy and against files; and that the pixels arrive as they were."""
    tasks = place.count(400, 3)
    ranges = {"ways": [2, 5], "shots": [1, 5], "query": 5} if place.tiny else {}
    protocol = protocol_from_dict({"name": "any_way_any_shot", **ranges})
    resident = ResidentPool(place.pool, place.device)
    wrong = sum(differing(place, protocol, place.count(30, 3), pool) for pool in (None, resident))
    bus = bus_rate(place)
    rate, there = (task_rate(place, protocol, tasks, pool) for pool in (None, resident))
    read, gathered = rate * IMAGE_BYTES, there * IMAGE_BYTES
    peer = peer_rate(place, protocol, place.count(20, 1))
    times = rate / peer
    return [
        figure("bare copy to the device", bus / 1e9, "GB/s"),
        figure("tasks to the device, bytes of pixels", read / 1e9, "GB/s"),
        figure("share of the bus", read / bus, ""),
        figure(
            "tasks from a pool on the device, bytes of pixels", gathered / 1e9, "GB/s",
            "" if place.tiny else ">= 50", None if place.tiny else gathered >= 50e9,
        ),
        figure(
            "tasks to the device, ratio to files that are decoded and copied", times, "x",
            "" if place.tiny else ">= 20", None if place.tiny else times >= 20,
        ),
        figure("images that arrive changed", wrong, "", "0", wrong == 0),
    ]  # fmt: skip


def task_rate(place: Place, protocol: Protocol, tasks: int, resident: ResidentPool | None) -> float:
    """Images a second of tasks as floats on the device: gathered there, or read into pinned memory and copied."""
    images = 0

    def pass_all() -> None:
        nonlocal images
        stream = stream_tensors(place.pool, protocol, SEED, tasks, device=place.device, resident=resident)
        images = sum(len(task.images) for task in stream)

    return rate_of(pass_all, place.device, lambda: images)


def peer_rate(place: Place, protocol: Protocol, tasks: int) -> float:
    """Images a second of tasks whose images are decoded from their files, and copied as tensors are by default."""
    with tempfile.TemporaryDirectory() as folder:
        paths = write_images(place.pool, Path(folder))
        images = 0

        def pass_all() -> None:
            nonlocal images
            for index in range(tasks):
                for part in load_task(paths, protocol.task(place.pool, SEED, index)):
                    images += len(part.to(place.device))

        return rate_of(pass_all, place.device, lambda: images)


def differing(place: Place, protocol: Protocol, tasks: int, resident: ResidentPool | None) -> int:
    """Images of tasks that are all held until the last has come, compared with a plain reading on the processor."""
    stream = stream_tensors(place.pool, protocol, SEED, tasks, device=place.device, resident=resident)
    held = list(stream)
    wrong = 0
    for task in held:
        plain = torch.empty(task.images.shape)
        read_pack_floats(place.pool[task.spec.dataset], task.spec.rows, plain.numpy())
        wrong += int((task.images.cpu() != plain).flatten(1).any(1).sum())
    return wrong


def bus_rate(place: Place, rounds: int = 20) -> float:
    """Bytes a second of copies from pinned memory to the device, or from memory to memory on the processor."""
    size = place.count(256, 4) << 20
    source = torch.empty(size, dtype=torch.uint8, pin_memory=place.device.type == "cuda")
    target = torch.empty(size, dtype=torch.uint8, device=place.device)

    def copy() -> None:
        for _ in range(rounds):
            target.copy_(source, non_blocking=True)

    return rate_of(copy, place.device, lambda: rounds * size)


def rate_of(work: Callable[[], None], device: torch.device, count: Callable[[], int]) -> float:
    """What `count` says after `work`, a second, with all that the device still has to do."""
    synchronize(device)
    began = time.perf_counter()
    work()
    synchronize(device)
    return count() / (time.perf_counter() - began)


def synchronize(device: torch.device) -> None:
    """Wait until the device has done everything."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
