"""From packs to float tensors on the device, as a share of what the bus can carry."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from anyshot_core.data.images import IMAGE_BYTES
from anyshot_core.protocols import Protocol, protocol_from_dict
from anyshot_starting_kit.episodes.tensors import read_pack_floats, stream_tensors
from benchmarks.figures import Figure, figure

if TYPE_CHECKING:
    from benchmarks.gpu.measure import Place

SEED = 93


def measure(place: Place) -> list[Figure]:
    """The stream of tasks against a bare copy from pinned memory; and that the pixels arrive as they were."""
    tasks = place.count(400, 3)
    ranges = {"ways": [2, 5], "shots": [1, 5], "query": 5} if place.tiny else {}
    protocol = protocol_from_dict({"name": "any_way_any_shot", **ranges})
    wrong = differing(place, protocol, place.count(30, 3))
    bus = bus_rate(place)
    images = 0

    def pass_all() -> None:
        nonlocal images
        for task in stream_tensors(place.pool, protocol, SEED, tasks, device=place.device):
            images += len(task.images)

    rate = images_of(pass_all, place.device, lambda: images) * IMAGE_BYTES
    share = rate / bus
    on_gpu = place.device.type == "cuda"
    return [
        figure("bare copy to the device", bus / 1e9, "GB/s"),
        figure("tasks to the device, bytes of pixels", rate / 1e9, "GB/s"),
        figure("share of the bus", share, "", ">= 0.5" if on_gpu else "", share >= 0.5 if on_gpu else None),
        figure("images that arrive changed", wrong, "", "0", wrong == 0),
    ]


def differing(place: Place, protocol: Protocol, tasks: int) -> int:
    """Images of tasks that are all held until the last has come, compared with a plain reading on the processor."""
    held = list(stream_tensors(place.pool, protocol, SEED, tasks, device=place.device))
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

    return images_of(copy, place.device, lambda: rounds * size)


def images_of(work: Callable[[], None], device: torch.device, count: Callable[[], int]) -> float:
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
