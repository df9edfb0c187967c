"""A channel to a plain child process: for the dry run and for trusted submissions. It is no sandbox."""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from anyshot_core.taskserver.channel import ChannelClosed, Death, SharedBuffer
from anyshot_core.taskserver.tuning import runner_environment

_SHARED_MEMORY = Path("/dev/shm")
_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "SYSTEMROOT", "VIRTUAL_ENV")


class ChildChannel:
    """Starts `python -m anyshot_starting_kit.runner` in its own process group and session."""

    def __init__(self, threads: int = 1, python: str = sys.executable, weights: Path | None = None) -> None:
        """`weights` is a folder with pretrained weights that the code may read."""
        self._weights = weights
        self._folder = Path(tempfile.mkdtemp(prefix="anyshot-run-"))
        memory = str(_SHARED_MEMORY) if os.access(_SHARED_MEMORY, os.W_OK) else None
        self._pixels = Path(tempfile.mkdtemp(prefix="anyshot-pixels-", dir=memory))
        self._packs = self._folder / "packs"
        self._packs.mkdir()
        self._stderr = (self._folder / "runner.log").open("wb")
        self._killed = False
        self._process = subprocess.Popen(
            [python, "-P", "-m", "anyshot_starting_kit.runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=self._environment(threads),
            start_new_session=True,
            cwd=self._folder,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)

    def _environment(self, threads: int) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        return (
            kept
            | runner_environment(threads)
            | {"LANG": "C.UTF-8", "ANYSHOT_SCRATCH": str(self._folder / "scratch")}
            | ({} if self._weights is None else {"ANYSHOT_WEIGHTS": str(self._weights)})
        )

    def send(self, data: bytes | memoryview, timeout: float) -> None:
        view, end = memoryview(data), time.monotonic() + timeout
        while view:
            left = end - time.monotonic()
            if left <= 0 or not select.select([], [self._in], [], left)[1]:
                raise TimeoutError("the runner does not read")
            try:
                view = view[os.write(self._in, view[: 1 << 20]) :]
            except BlockingIOError:
                continue
            except (BrokenPipeError, OSError) as error:
                raise ChannelClosed("the runner is gone") from error

    def recv(self, timeout: float) -> bytes | None:
        if not select.select([self._out], [], [], timeout)[0]:
            return None
        return os.read(self._out, 1 << 16)

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        if self._process.poll() is None:
            self._killed = True
        self._signal(signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def close(self) -> None:
        self.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._stderr.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        shutil.rmtree(self._pixels, ignore_errors=True)

    def death(self) -> Death:
        try:
            code = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return Death(detail="the process still runs")
        text = (self._folder / "runner.log").read_bytes()[-4_000:].decode("utf-8", "replace")
        if code < 0:
            return Death(signal=-code, killed_by_us=self._killed, detail=text)
        return Death(exit_code=code, killed_by_us=self._killed, detail=text)

    def offer_packs(self, packs: Sequence[Path]) -> str:
        for position, pack in enumerate(packs):
            (self._packs / str(position)).symlink_to(pack.resolve())
        return str(self._packs)

    @property
    def pixels(self) -> SharedBuffer | None:
        path = self._pixels / "due"
        return SharedBuffer(path, str(path))
