"""The worker's leases of GPUs against the real `nvidia-smi`, while nothing else of the measurement is on a device."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anyshot_worker.sandbox.gpu import Gpus, GpuUse
from anyshot_worker.sandbox.interface import AttemptKey, SandboxError
from benchmarks.figures import Figure, figure

if TYPE_CHECKING:
    from benchmarks.gpu.measure import Place

# Busy until its input ends, with a GiB of the first device's memory.
BUSY = """
import select, sys, torch
held = torch.ones(1 << 28, device="cuda:0")
print("busy", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    held.mul_(1.0)
    torch.cuda.synchronize()
"""
PATIENCE = 20.0  # seconds for nvidia-smi to see what a process does


def measure(place: Place) -> list[Figure]:
    """All devices are found, refused while somebody is on one, seen at work, and free again when that ends."""
    if place.device.type == "cpu":
        print("Leases are for devices; the suite tries them with a fake one.")
        return []
    gpus = Gpus(place.folder / "leases")
    count = len(gpus.names())
    with _busy():
        refused = not _lent(gpus, count, AttemptKey("refused", 1))
    lent = _lent(gpus, count, AttemptKey("run", 1))
    with _busy():
        use = _at_work(gpus, AttemptKey("run", 1))
    gpus.give_back(AttemptKey("run", 1))
    again = _lent(gpus, count, AttemptKey("run", 2))
    gpus.give_back(AttemptKey("run", 2))
    gibibytes = (use.memory_bytes or 0) / (1 << 30)
    return [
        figure("healthy devices", count, "", ">= 1", count >= 1),
        figure("a device with somebody on it is refused", float(refused), "", "1", refused),
        figure("a free one is lent", float(lent), "", "1", lent),
        figure("share of time that a busy one is seen busy", use.share or 0, "", "> 0", bool(use.share)),
        figure("memory seen of 1 GiB and what CUDA takes", gibibytes, "GiB", ">= 1", gibibytes >= 1),
        figure("it is lent again afterwards", float(again), "", "1", again),
    ]


@contextmanager
def _busy() -> Iterator[None]:
    """Another process at work on a device."""
    command = [sys.executable, "-c", BUSY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.stdin.close()


def _lent(gpus: Gpus, count: int, attempt: AttemptKey) -> bool:
    try:
        return len(gpus.take(count, attempt)) == count
    except SandboxError as error:
        print(error)
        return False


def _at_work(gpus: Gpus, attempt: AttemptKey) -> GpuUse:
    """What a run's devices do, as soon as it is seen: nvidia-smi tells of the last moments."""
    end = time.monotonic() + PATIENCE
    while not (use := gpus.use(attempt)).share and time.monotonic() < end:
        time.sleep(0.2)
    return use
