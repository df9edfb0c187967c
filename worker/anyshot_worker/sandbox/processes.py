"""A box that is a child process of the worker: what Bubblewrap and the trusted backend have in common."""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import psutil

from anyshot_core.taskserver.channel import Death, SharedBuffer
from anyshot_worker.sandbox.box_folders import BoxFolders
from anyshot_worker.sandbox.interface import INPUT_INSIDE, PIXELS_INSIDE, BoxSpec, BoxUsage
from anyshot_worker.sandbox.lifetime import Lifetime
from anyshot_worker.sandbox.local_groups import LocalGroup
from anyshot_worker.sandbox.pipes import PipeStream
from anyshot_worker.sandbox.slots import Slot

STDERR_LIMIT = 4 << 20
KILL_SECONDS = 10.0  # in which a process that was killed ends


class ProcessBox(Lifetime):
    """One process tree; `scratch` is a folder of the host that goes with it, where the backend has no tmpfs."""

    def __init__(
        self,
        spec: BoxSpec,
        slot: Slot,
        stage: BoxFolders,
        group: LocalGroup,
        uid: int,
        scratch: Path | None = None,
    ) -> None:
        super().__init__()
        self.id, self.spec, self.uid = stage.name, spec, uid
        self._slot, self._stage, self._group, self._scratch = slot, stage, group, scratch
        self._process: subprocess.Popen[bytes] | None = None
        self._stream: PipeStream | None = None
        self._killed = False
        self._usage = BoxUsage()

    def launch(self, command: list[str], environment: dict[str, str], pass_fds: tuple[int, ...] = ()) -> None:
        """Start the process, in a session of its own."""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            pass_fds=pass_fds,
            start_new_session=True,
            cwd=self._scratch or "/",
        )
        self._stream = PipeStream(self._process, STDERR_LIMIT)

    @property
    def stream(self) -> PipeStream:
        if self._stream is None:
            raise RuntimeError("the box was not started")
        return self._stream

    def send(self, data: bytes | memoryview, timeout: float) -> None:
        self.stream.send(data, timeout)

    def recv(self, timeout: float) -> bytes | None:
        return self.stream.recv(timeout)

    def freeze(self) -> None:
        if not self._group.freeze():
            self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        if not self._group.thaw():
            self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill every process of the box; the first one of a process namespace takes the others with it."""
        self._remember_usage()
        if self._stream is not None:
            self._stream.close()
        if self._process is not None and not self._killed:
            self._killed = self._process.poll() is None
            self._group.thaw()
            self._signal(signal.SIGKILL)
            # One that hangs in the kernel dies as soon as that lets go of it.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(KILL_SECONDS)

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def death(self) -> Death:
        if self._process is None:
            return Death(detail="was not started")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        code = self._process.returncode
        if code is None:
            return Death(killed_by_us=self._killed, detail="still running")
        ended_by = -code if code < 0 else code - 128 if code > 128 else None  # bwrap reports 128 + signal
        return Death(
            exit_code=code if code >= 0 else 128 - code,
            signal=ended_by,
            out_of_memory=bool(self.usage().out_of_memory_kills),
            killed_by_us=self._killed,
            detail=self.stream.diagnostics,
        )

    def usage(self) -> BoxUsage:
        self._remember_usage()
        return self._usage

    def offer_packs(self, packs: Sequence[Path]) -> str:
        self._stage.offer(packs)
        return INPUT_INSIDE if self._scratch is None else str(self._stage.input)

    @property
    def pixels(self) -> SharedBuffer | None:
        path = self._stage.pixels
        return SharedBuffer(path, PIXELS_INSIDE if self._scratch is None else str(path))

    def keeps_logs(self) -> bool:
        return False

    def left_behind(self) -> tuple[str, ...]:
        folders = [
            str(path)
            for path in (self._stage.input, self._stage.shared, self._scratch)
            if path and path.exists()
        ]
        return (*folders, *(["control group"] if self._group.exists() else []))

    def _dismantle(self) -> None:
        self.kill()
        self._group.remove()
        self._stage.remove()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
        if not self.alive():  # else its user id stays taken: the kernel counts what it does
            self._slot.release()

    def _tree(self) -> list[psutil.Process]:
        if self._process is None:
            return []
        try:
            first = psutil.Process(self._process.pid)
            return [first, *first.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def _signal(self, number: signal.Signals) -> None:
        for process in self._tree():
            with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                os.kill(process.pid, number)
        for pid in self._group.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _remember_usage(self) -> None:
        if self._group.made:
            self._usage = self._group.usage() if self._group.exists() else self._usage
            return
        seconds, memory = 0.0, 0
        for process in self._tree():
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                times = process.cpu_times()
                seconds += times.user + times.system
                memory += process.memory_info().rss
        before = self._usage
        peak = max(memory, before.memory_peak_bytes or 0) or None
        self._usage = BoxUsage(max(seconds, before.cpu_seconds), peak, memory_bytes=memory or None)


class LocalBackend:
    """What backends share whose boxes are processes of this machine, with no daemon between.

    Processes die with their worker, so that nothing but folders and groups is left of them.
    """

    reduced = True
    trusted = False
    limits_end_box = False
    images_are_folders = False
    gives_gpus = False
    cgroup_driver = "cgroupfs"

    def usable(self) -> bool:
        return True

    def end_orphans(self) -> list[str]:
        return []

    def close(self) -> None:
        """Nothing is kept open."""
