"""The runner's end of the byte stream: frames in, frames out, on descriptors that participant code does not inherit."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import threading
from collections.abc import Callable

from anyshot_core.wire.frames import FROM_TASK_SERVER, Decoder, Frame, FrameType, header

_HIGH = 200  # above what participants' libraries get in ordinary runs


class StreamEnded(Exception):
    """The task server is gone; there is nobody to report to."""


class FrameStream:
    """Reads commands and writes replies. Writing is safe from several threads."""

    def __init__(self, source: int, sink: int) -> None:
        self._source, self._sink = source, sink
        self._decoder = Decoder(FROM_TASK_SERVER)
        self._ready: list[Frame] = []
        self._writing = threading.Lock()

    @classmethod
    def claim_standard_streams(cls) -> FrameStream:
        """Move stdin and stdout to high close-on-exec descriptors and leave /dev/null in their places.

        Forked children close them too, so that a helper process of a submission cannot speak for the runner
        by accident.
        """
        source = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, _HIGH)
        sink = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, _HIGH)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.close(null)
        os.register_at_fork(after_in_child=_closer(source, sink))
        return cls(source, sink)

    def receive(self) -> Frame:
        """The next command. Raises StreamEnded at the end of the stream, FrameError on garbage."""
        while not self._ready:
            piece = os.read(self._source, 1 << 20)
            if not piece:
                raise StreamEnded
            self._ready = list(self._decoder.feed(piece))
        return self._ready.pop(0)

    def waits(self, timeout: float) -> bool:
        """Whether a command, or the end of the stream, is there within `timeout` seconds."""
        poller = select.poll()
        poller.register(self._source, select.POLLIN)
        return bool(self._ready) or bool(poller.poll(timeout * 1000))

    def takes(self, kind: FrameType) -> bool:
        """Whether a command of that kind is next; then it is taken."""
        if not self.waits(0.0):
            return False
        frame = self.receive()
        if frame.kind is not kind:
            self._ready.insert(0, frame)
        return frame.kind is kind

    def send(self, kind: FrameType, payload: bytes = b"") -> None:
        """Raises StreamEnded when nobody reads any more."""
        try:
            with self._writing:
                self._write(header(kind, len(payload)))
                self._write(payload)
        except BrokenPipeError as error:
            raise StreamEnded from error

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._sink, view) :]


def _closer(*descriptors: int) -> Callable[[], None]:
    def close() -> None:
        for descriptor in descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    return close
