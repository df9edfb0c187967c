"""The stream of a child process: the same behaviour as a container's attach stream, over three pipes."""

import contextlib
import os
import select
import subprocess
import time

from anyshot_core.taskserver.channel import ChannelClosed
from anyshot_worker.sandbox.attach import CHUNK, DIAGNOSTIC_BYTES


class PipeStream:
    """Standard input, output and error of a process."""

    def __init__(self, process: subprocess.Popen[bytes], stderr_limit: int) -> None:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise ValueError("the process was started without pipes")
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        for pipe in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(pipe.fileno(), False)
        self._diagnostics = bytearray()
        self._stderr_left = stderr_limit
        self._stderr_open = True
        self._closed = False

    @property
    def diagnostics(self) -> str:
        """The last of what went to standard error, past the runner."""
        return self._diagnostics.decode("utf-8", "backslashreplace")

    def send(self, data: bytes | memoryview, timeout: float) -> None:
        """Write all of `data`; raises TimeoutError or ChannelClosed."""
        view, deadline = memoryview(data).cast("B"), time.monotonic() + timeout
        while view:
            if self._closed:
                raise ChannelClosed("this side hung up")
            try:
                handle = self._stdin.fileno()
                with contextlib.suppress(BlockingIOError):
                    view = view[os.write(handle, view[: 1 << 20]) :]
                    continue
            except (OSError, ValueError) as error:  # ValueError: another thread has closed it
                raise ChannelClosed(str(error)) from error
            if not _wait(deadline, write=handle):
                raise TimeoutError("the runner does not read")

    def recv(self, timeout: float) -> bytes | None:
        """Some of standard output, b"" at its end, None after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        with contextlib.suppress(OSError, ValueError):  # ValueError: another thread has closed it
            while not self._closed and self._stderr_left >= 0:
                self._drain_stderr()
                with contextlib.suppress(BlockingIOError):
                    return os.read(self._stdout.fileno(), CHUNK)
                extra = [self._stderr.fileno()] if self._stderr_open else []
                pipes = [self._stdout.fileno(), *extra]
                found = _wait(min(deadline, time.monotonic() + 0.5), read=pipes)
                if not found and time.monotonic() >= deadline:
                    return None
        return b""

    def close(self) -> None:
        """Hang up; harmless when repeated."""
        if self._closed:
            return
        self._closed = True
        self._drain_stderr()
        for pipe in (self._stdin, self._stdout, self._stderr):
            with contextlib.suppress(OSError):
                pipe.close()

    def _drain_stderr(self) -> None:
        try:
            while self._stderr_open and self._stderr_left >= 0:
                data = os.read(self._stderr.fileno(), CHUNK)
                self._stderr_open = bool(data)
                self._stderr_left -= len(data)
                self._diagnostics += data
                del self._diagnostics[:-DIAGNOSTIC_BYTES]
        except (OSError, ValueError):
            return


def _wait(deadline: float, read: list[int] | None = None, write: int | None = None) -> bool:
    left = deadline - time.monotonic()
    if left <= 0:
        return False
    poller = select.poll()
    for handle in read or []:
        poller.register(handle, select.POLLIN)
    if write is not None:
        poller.register(write, select.POLLOUT)
    return bool(poller.poll(left * 1000))
