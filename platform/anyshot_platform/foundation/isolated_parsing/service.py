"""Hands files of strangers to confined processes: little memory, little time, few at once.

A zip of 645 bytes can ask its reader for gigabytes. So the web process never opens one: it asks a child, which the
kernel stops, and answers with words. Children live on from order to order, because starting one takes a second.
"""

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from anyshot_platform.foundation.errors import Invalid, PlatformError

MEMORY = 1 << 30  # bytes of address space of one process
CPU_SECONDS = 10
WALL_SECONDS = 60.0  # for `CPU_SECONDS`; an order that has more of them has as many times more
AT_ONCE = 2  # processes of one web process
_WAIT = 20.0  # seconds that an order waits for a free process


class TooCostly(Invalid):
    """Reading the file takes more memory or time than any honest one."""

    code = "too_costly"


class Busy(PlatformError):
    """All confined processes have work."""

    status = 503
    code = "busy"


class ConfinedFault(RuntimeError):
    """The confined process failed by a fault of ours."""


def run_confined(task: str, **order: Any) -> dict[str, Any]:
    """What a confined process answers to an order of `confined_program`.

    Raises:
        TooCostly: beyond `MEMORY` or `CPU_SECONDS`.
        Busy: no process became free, or it had no answer in time (`WALL_SECONDS`).
    """
    with _POOL.child() as child:
        answer = child.ask({"task": task, "cpu_seconds": CPU_SECONDS, **order})
    if "fault" in answer:
        raise ConfinedFault(answer["fault"])
    if "refused" in answer:
        seconds = order.get("cpu_seconds", CPU_SECONDS)
        raise TooCostly(f"This file cannot be checked: {_why_refused(answer['refused'], seconds)}.")
    return answer["done"]


def _why_refused(limit: str, cpu_seconds: int) -> str:
    match limit:
        case "memory":
            return f"reading it takes more than {MEMORY >> 20} MiB of memory"
        case "time":
            return f"reading it takes more than {cpu_seconds} seconds"
        case _:
            return "it is nested too deeply"


def _wall_seconds(cpu_seconds: int) -> float:
    """How long an order may take that may use so much of a processor: a slow disk slows all of it."""
    return WALL_SECONDS * max(1.0, cpu_seconds / max(CPU_SECONDS, 1))


class _Child:
    """A confined process that waits for work or does it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "anyshot_platform.server.parsing_program", str(MEMORY)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_bare_environment(),
            start_new_session=True,
        )
        self._orders: Any = self._process.stdin
        self._answers: Any = self._process.stdout

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, order: dict[str, Any]) -> dict[str, Any]:
        """The answer; a process that gives none in time is ended."""
        try:
            self._orders.write(json.dumps(order).encode() + b"\n")
            self._orders.flush()
            line = self._read_line(time.monotonic() + _wall_seconds(order["cpu_seconds"]))
        except BrokenPipeError:
            line = b""
        if line.endswith(b"\n"):
            answer = json.loads(line)
            if answer["last"]:
                self.end()
            return answer
        self.end()
        return self._why_none()

    def _why_none(self) -> dict[str, Any]:
        code = self._process.returncode
        if code == -signal.SIGXCPU:
            return {"refused": "time"}
        if code == -signal.SIGABRT:  # what a library does that gets no memory
            return {"refused": "memory"}
        if code == -signal.SIGKILL:  # by us: the machine had no time for it
            raise Busy(
                "The site is too busy to check this file. Please try again in a minute.", retry_after=60
            )
        return {"fault": f"the confined process ended with {code}"}

    def _ends_by_itself(self) -> bool:
        """Whether it closed its output and is about to end: its own end tells why."""
        ready = select.select([self._answers], [], [], 0)[0]
        return bool(ready) and not os.read(self._answers.fileno(), 1)

    def _read_line(self, until: float) -> bytes:
        source, line = self._answers.fileno(), b""
        while not line.endswith(b"\n"):
            left = until - time.monotonic()
            if left <= 0 or not select.select([source], [], [], left)[0]:
                return line
            piece = os.read(source, 1 << 16)
            if not piece:
                return line
            line += piece
        return line

    def end(self) -> None:
        """End the process now; once more does nothing."""
        if self._process.poll() is None and not self._ends_by_itself():
            self._process.kill()
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            self._orders.close()
        self._answers.close()


class _Pool:
    """The confined processes of this process; started when they are needed."""

    def __init__(self) -> None:
        self._free = threading.BoundedSemaphore(AT_ONCE)
        self._idle: list[_Child] = []

    @contextmanager
    def child(self) -> Iterator[_Child]:
        if not self._free.acquire(timeout=_WAIT):
            raise Busy("Many files are being checked just now. Please try again in a minute.", retry_after=60)
        try:
            child = self._take()
            try:
                yield child
            finally:
                self._keep(child)
        finally:
            self._free.release()

    def _take(self) -> _Child:
        while self._idle:
            child = self._idle.pop()
            if child.alive:
                return child
            child.end()
        return _Child()

    def _keep(self, child: _Child) -> None:
        if child.alive:
            self._idle.append(child)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().end()


def _bare_environment() -> dict[str, str]:
    """No secret of the platform, one thread in numpy."""
    kept = ("PATH", "LANG", "LC_ALL", "TZ", "TZDIR", "PYTHONPATH", "VIRTUAL_ENV", "HOME", "TMPDIR")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"OPENBLAS_NUM_THREADS": "1"}


_POOL = _Pool()
atexit.register(_POOL.close)
