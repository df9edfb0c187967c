"""Real runners without the seconds of importing torch: a process that has it forks one for each test.

Run as a script it is that process; `Zygote` is the test's end, `ForkedChannel` a channel to a forked runner.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from anyshot_core.taskserver.channel import Death
from anyshot_core.taskserver.child import ChildChannel
from anyshot_core.taskserver.tuning import runner_environment


class Zygote:
    """Starts the process and asks it for runners."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"} | runner_environment(1)
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env=environment,
        )
        theirs.close()

    def fork(self, scratch: Path, descriptors: list[int]) -> None:
        """Start a runner on (stdin, stdout, stderr); its process id and exit status come over the fourth."""
        socket.send_fds(self._socket, [str(scratch).encode()], descriptors)

    def close(self) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait(timeout=20)


class ForkedChannel(ChildChannel):
    """A channel to a runner that the zygote forked."""

    def __init__(self, zygote: Zygote) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="anyshot-test-"))
        self._pixels = Path(tempfile.mkdtemp(prefix="anyshot-pixels-", dir="/dev/shm"))
        self._packs = self._folder / "packs"
        self._packs.mkdir()
        self._killed = False
        their_in, self._in = os.pipe()
        self._out, their_out = os.pipe()
        self._status, their_status = os.pipe()
        errors = os.open(self._folder / "runner.log", os.O_CREAT | os.O_WRONLY)
        theirs = [their_in, their_out, errors, their_status]
        zygote.fork(self._folder / "scratch", theirs)
        for descriptor in theirs:
            os.close(descriptor)
        os.set_blocking(self._in, False)
        self._states = os.fdopen(self._status, "rb")
        self._pid = int(self._states.readline())
        self._death: Death | None = None

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)

    def kill(self) -> None:
        if self._death is None:
            self._killed = True
        self._signal(signal.SIGKILL)

    def death(self) -> Death:
        if self._death is None:
            code = int(self._states.readline())
            how: dict[str, Any] = {"signal": -code} if code < 0 else {"exit_code": code}
            log = (self._folder / "runner.log").read_text()[-2000:]
            self._death = Death(killed_by_us=self._killed, detail=log, **how)
        return self._death

    def close(self) -> None:
        self.kill()
        self._states.close()
        for descriptor in (self._in, self._out):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        shutil.rmtree(self._folder, ignore_errors=True)
        shutil.rmtree(self._pixels, ignore_errors=True)


def _main(control: socket.socket) -> None:
    import torch._dynamo

    from anyshot_starting_kit.runner import evaluation, session

    del evaluation, torch
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        scratch, descriptors, _, _ = socket.recv_fds(control, 4096, 4)
        if not scratch:
            return
        if os.fork() == 0:
            control.close()
            _keep(scratch.decode(), descriptors, session.run)
        for descriptor in descriptors:
            os.close(descriptor)


def _keep(scratch: str, descriptors: list[int], run: Callable[[], int]) -> None:
    """Fork the runner, write its process id, wait for it, write how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    status = descriptors[3]
    runner = os.fork()
    if runner == 0:
        os.setsid()
        for target, descriptor in enumerate(descriptors[:3]):
            os.dup2(descriptor, target)
        for descriptor in descriptors:
            os.close(descriptor)
        os.environ["ANYSHOT_SCRATCH"] = scratch
        os._exit(run())
    for descriptor in descriptors[:3]:
        os.close(descriptor)
    os.write(status, b"%d\n" % runner)
    os.write(status, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(runner, 0)[1]))
    os._exit(0)


if __name__ == "__main__":
    _main(socket.socket(fileno=int(sys.argv[1])))
