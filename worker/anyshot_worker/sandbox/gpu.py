"""One run a GPU or MIG slice, exclusively, until no process is left on it.

The devices are asked through `nvidia-smi`; tests put a fake in its place. GPU memory is in no control group, so the
only protection between submissions is that they never share a device.
"""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.sandbox.interface import AttemptKey, SandboxError

QUERY = "uuid,name,memory.total,ecc.errors.uncorrected.volatile.total"
MIG_LINE = re.compile(r"^\s+MIG (?P<profile>\S+)\s+Device\s+\d+: \(UUID: (?P<uuid>MIG-[^)]+)\)")
GPU_LINE = re.compile(r"^GPU \d+: (?P<name>.+) \(UUID: (?P<uuid>GPU-[^)]+)\)")


@dataclass(frozen=True)
class Gpu:
    """A card or a slice of one; `uuid` is what a container asks for."""

    uuid: str
    name: str
    memory_bytes: int | None = None
    healthy: bool = True


@dataclass(frozen=True)
class GpuUse:
    """What a device does at this moment: busy from 0 to 1, bytes; None where it cannot tell (a slice of a card)."""

    share: float | None = None
    memory_bytes: int | None = None


class GpuDevices(Protocol):
    """What a box is given of the machine's GPUs."""

    def list(self) -> list[Gpu]: ...

    def processes(self, uuid: str) -> list[int]:
        """Ids of the processes that still have a context on the device."""
        ...

    def use(self, uuid: str) -> GpuUse: ...


class NvidiaDevices:
    """What `nvidia-smi` says; no devices where it is missing or may not be run."""

    def list(self) -> list[Gpu]:
        """Cards without slices, and the slices of the others."""
        cards = {gpu.uuid: gpu for gpu in map(_card, self._ask(f"--query-gpu={QUERY}"))}
        found: list[Gpu] = []
        card = None
        for line in self._ask("-L", table=False):
            if match := GPU_LINE.match(line):
                card = cards.get(match["uuid"], Gpu(match["uuid"], match["name"]))
                found.append(card)
            elif (match := MIG_LINE.match(line)) and card is not None:
                found = [gpu for gpu in found if gpu.uuid != card.uuid]
                found.append(Gpu(match["uuid"], f"{card.name} MIG {match['profile']}", None, card.healthy))
        return found

    def processes(self, uuid: str) -> list[int]:
        lines = self._ask("--query-compute-apps=gpu_uuid,pid")
        return [int(pid) for line in lines for owner, pid in [line.split(", ")] if owner == uuid]

    def use(self, uuid: str) -> GpuUse:
        """Asked while a run goes on, so it waits two seconds at most."""
        lines = self._ask("--query-gpu=utilization.gpu,memory.used", more=(f"--id={uuid}",), patience=2)
        share, memory = lines[0].split(", ", 1) if lines and ", " in lines[0] else ("", "")
        return GpuUse(
            int(share) / 100 if share.isdigit() else None, int(memory) << 20 if memory.isdigit() else None
        )

    def _ask(
        self, query: str, table: bool = True, more: tuple[str, ...] = (), patience: float = 20
    ) -> list[str]:
        options = ["--format=csv,noheader,nounits", *more] if table else []
        try:
            done = subprocess.run(
                ["nvidia-smi", query, *options], capture_output=True, text=True, timeout=patience
            )
        except (OSError, subprocess.TimeoutExpired):
            return []
        return done.stdout.splitlines() if done.returncode == 0 else []


class NoDevices:
    """For a sandbox that cannot hand GPUs on: it has none, whatever the machine has."""

    def list(self) -> list[Gpu]:
        return []

    def processes(self, uuid: str) -> list[int]:
        return []

    def use(self, uuid: str) -> GpuUse:
        return GpuUse()


class Gpus:
    """Leases of this machine's devices, shared by its worker processes through locks that die with them."""

    def __init__(self, lock_folder: Path, devices: GpuDevices | None = None, patience: float = 10.0) -> None:
        self._folder = lock_folder
        self._devices = devices or NvidiaDevices()
        self._patience = patience
        self._held: dict[AttemptKey, list[tuple[str, int]]] = {}
        self._guard = threading.Lock()  # who only looks whether a device is free takes it from nobody

    def names(self) -> list[str]:
        """One line a device, for the worker's announcement."""
        return [_told(gpu) for gpu in self._devices.list() if gpu.healthy]

    def free_names(self) -> list[str]:
        """The same of the devices that a run could have now."""
        return [_told(gpu) for gpu in self._devices.list() if gpu.healthy and self._is_free(gpu.uuid)]

    def require_some(self) -> None:
        """Raise SandboxError where a worker is set up for GPUs and there is none that it could give out."""
        if not self.names():
            raise SandboxError(
                "ANYSHOT_DOCKER_RUNTIME is nvidia, and nvidia-smi names no healthy GPU here. Run nvidia-smi where this"
                " worker runs. A container has it, and the GPUs, where it is started by the runtime nvidia, with"
                " NVIDIA_VISIBLE_DEVICES=all and NVIDIA_DRIVER_CAPABILITIES=utility",
                Verdict.SANDBOX_START,
            )

    def take(self, count: int, attempt: AttemptKey) -> tuple[str, ...]:
        """Lock `count` healthy, idle devices; raises SandboxError (GPU_UNHEALTHY) when there are too few."""
        if count == 0:
            return ()
        held: list[tuple[str, int]] = []
        devices = self._devices.list()
        with self._guard:
            for gpu in devices:
                if len(held) < count and gpu.healthy and (lock := self._lock_idle(gpu.uuid)) is not None:
                    held.append((gpu.uuid, lock))
        if len(held) < count:
            for _, lock in held:
                os.close(lock)
            raise SandboxError(
                f"the run needs {count} GPU{'s' * (count > 1)}; healthy and free: {len(held)}",
                Verdict.GPU_UNHEALTHY,
            )
        self._held.setdefault(attempt, []).extend(held)
        return tuple(uuid for uuid, _ in held)

    def use(self, attempt: AttemptKey) -> GpuUse:
        """What an attempt's devices do: busy on average, bytes together; None where it has none or they cannot tell."""
        used = [self._devices.use(uuid) for uuid, _ in self._held.get(attempt, [])]
        shares = [one.share for one in used if one.share is not None]
        bytes_used = [one.memory_bytes for one in used if one.memory_bytes is not None]
        return GpuUse(sum(shares) / len(shares) if shares else None, sum(bytes_used) if bytes_used else None)

    def give_back(self, attempt: AttemptKey) -> None:
        """Free an attempt's devices once nothing runs on them; raises SandboxError if something stays."""
        deadline = time.monotonic() + self._patience
        held = self._held.pop(attempt, [])
        left = {uuid: processes for uuid, lock in held if (processes := self._unlock(uuid, lock, deadline))}
        if left:
            told = ", ".join(
                f"processes {processes} do not leave GPU {uuid}" for uuid, processes in left.items()
            )
            raise SandboxError(told, Verdict.GPU_UNHEALTHY)

    def _unlock(self, uuid: str, lock: int, deadline: float) -> list[int]:
        """The processes that stay on a device, and the lock with them: nobody may get somebody's memory."""
        while (left := self._devices.processes(uuid)) and time.monotonic() < deadline:
            time.sleep(0.1)
        if not left:
            os.close(lock)
        return left

    def _is_free(self, uuid: str) -> bool:
        """The lock is let go of before `nvidia-smi` is asked, which is slow: another worker may want the device now."""
        with self._guard:
            if (lock := self._lock(uuid)) is None:
                return False
            os.close(lock)
        return not self._devices.processes(uuid)

    def _lock_idle(self, uuid: str) -> int | None:
        """The lock on a device that nothing runs on."""
        if (lock := self._lock(uuid)) is not None and self._devices.processes(uuid):
            os.close(lock)
            return None
        return lock

    def _lock(self, uuid: str) -> int | None:
        self._folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(
            self._folder / f"gpu-{uuid.replace('/', '_')}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock


def _told(gpu: Gpu) -> str:
    return f"{gpu.name} ({gpu.uuid})"


def _card(line: str) -> Gpu:
    uuid, name, memory, errors = (word.strip() for word in line.split(","))
    return Gpu(uuid, name, int(memory) << 20 if memory.isdigit() else None, errors in ("0", "[N/A]", "N/A"))
