"""Runners that start warm: forked from a process that has imported torch, which costs a new one two to three seconds.

The task server meets these runners in contract, attempt and dry-run tests by the hundred. Their process differs from a
new one in nothing that they can ask for: environment, working directory, session, streams, arguments and random state
are those of a fresh start, and the interpreter ends as it always does. Starts in a sandbox, and of the command
`anyshot` as a process of its own, stay cold.
"""

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from anyshot_core.taskserver import child
from anyshot_core.taskserver.tuning import runner_environment
from anyshot_worker.images.own_packages import python_path
from anyshot_worker.sandbox import processes
from tests.services import warm_runner_parent

RUNNER = [sys.executable, "-P", "-m", "anyshot_starting_kit.runner"]


class WarmProcess:
    """The part of `subprocess.Popen` that a channel uses, of a process that another one has forked."""

    def __init__(self, ours: socket.socket, streams: list[IO[bytes] | None]) -> None:
        self._ours = ours
        self.stdin, self.stdout, self.stderr = streams
        self.pid = int.from_bytes(_read(ours, 4), "little")
        self.returncode: int | None = None
        self._guard = threading.Lock()

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if not self._guard.acquire(timeout=-1 if timeout is None else timeout):
            raise subprocess.TimeoutExpired(RUNNER, timeout or 0)
        try:
            if self.returncode is None:
                if not select.select([self._ours], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired(RUNNER, timeout or 0)
                self.returncode = int.from_bytes(_read(self._ours, 4), "little", signed=True)
                self._ours.close()
            return self.returncode
        finally:
            self._guard.release()


class WarmStarts:
    """Stands where two modules have `subprocess`: a runner with the parent's own threads is forked, all else starts."""

    PIPE = subprocess.PIPE
    TimeoutExpired = subprocess.TimeoutExpired

    def __init__(self, folder: Path) -> None:
        self._address = str(folder / "parent")
        self._environment = runner_environment(1)
        self._parent: subprocess.Popen[bytes] | None = None
        self._guard = threading.Lock()  # tests start runners from several threads

    def close(self) -> None:
        if self._parent is not None:
            self._parent.communicate(timeout=60)

    def Popen(self, command: list[str], **options: Any) -> Any:
        said = options.get("env") or {}
        if command != RUNNER or any(said.get(name) != value for name, value in self._environment.items()):
            return subprocess.Popen(command, **options)
        with self._guard:
            self._start_parent()
        theirs, streams = [], []
        for place, name in enumerate(("stdin", "stdout", "stderr")):
            if options[name] is not subprocess.PIPE:
                theirs.append(os.dup(options[name].fileno()))
                streams.append(None)
                continue
            read, write = os.pipe()
            theirs.append(write if place else read)
            streams.append(os.fdopen(read, "rb") if place else os.fdopen(write, "wb"))
        ours = socket.socket(socket.AF_UNIX)
        ours.connect(self._address)
        request = json.dumps({"environment": said, "folder": str(options["cwd"])}).encode()
        socket.send_fds(ours, [len(request).to_bytes(4, "little")], theirs)
        ours.sendall(request)
        for descriptor in theirs:
            os.close(descriptor)
        return WarmProcess(ours, streams)

    def _start_parent(self) -> None:
        if self._parent is not None:
            return
        place = {"PYTHONPATH": python_path(), "PATH": os.defpath, "HOME": str(Path(self._address).parent)}
        self._parent = subprocess.Popen(
            [sys.executable, "-P", warm_runner_parent.__file__, self._address],
            env={**place, **self._environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._parent.stdout is not None
        assert self._parent.stdout.readline() == b"ready\n", "the parent of warm runners did not come up"


def _read(connection: socket.socket, size: int) -> bytes:
    content = connection.recv(size, socket.MSG_WAITALL)
    if len(content) != size:
        raise RuntimeError("the parent of warm runners is gone")
    return content


@pytest.fixture(scope="session", autouse=True)
def warm_runners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Runners of this session's tests start warm; the parent itself starts with the first of them."""
    warm = WarmStarts(tmp_path_factory.mktemp("warm"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child, "subprocess", warm)
        patch.setattr(processes, "subprocess", warm)
        yield
    warm.close()


@pytest.fixture
def cold_runners(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runners are new processes in this test: it is about their start, or reads of them what a fork does not change."""
    for module in (child, processes):
        monkeypatch.setattr(module, "subprocess", subprocess)
