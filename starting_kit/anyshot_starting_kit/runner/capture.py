"""Catches what a submission (and its C libraries and children) prints, and sends it as LOG frames."""

import contextlib
import io
import os
import sys
import threading
from collections.abc import Callable

from anyshot_core.wire.messages import Stream

_PIECE = 32 << 10


class OutputCapture:
    """Replaces descriptors 1 and 2 by pipes that a thread empties.

    `drain` empties them at once, so that output written before a reply is sent before it and falls into the
    right stage.
    """

    def __init__(self, send: Callable[[bytes], None]) -> None:
        """`send` gets LOG payloads: one byte of stream, then text as it came."""
        self._send = send
        self._reading = threading.Lock()
        self._pipes: list[tuple[Stream, int]] = []

    def start(self) -> None:
        for stream, descriptor in ((Stream.STDOUT, 1), (Stream.STDERR, 2)):
            reader, writer = os.pipe()
            os.dup2(writer, descriptor)
            os.close(writer)
            os.set_inheritable(descriptor, True)
            os.set_blocking(reader, False)
            self._pipes.append((stream, reader))
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - lives as long as the process
        sys.stdout = _text(1, line_buffering=True)
        sys.stderr = _text(2, line_buffering=True)
        threading.Thread(target=self._pump, name="output", daemon=True).start()

    def drain(self) -> None:
        """Flush Python's buffers and send all that lies in the pipes now (at most 1 MiB, against endless writers)."""
        for text in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                text.flush()
        with self._reading:
            for stream, reader in self._pipes:
                for _ in range(32):
                    if not self._forward(stream, reader):
                        break

    def _pump(self) -> None:
        import select

        poller = select.poll()
        for _, reader in self._pipes:
            poller.register(reader, select.POLLIN)
        names = {reader: stream for stream, reader in self._pipes}
        while names:
            for reader, _ in poller.poll():
                with self._reading:
                    open_end = self._forward(names[reader], reader)
                if open_end is None:  # the submission closed it: nothing can come any more
                    poller.unregister(reader)
                    del names[reader]

    def _forward(self, stream: Stream, reader: int) -> bool | None:
        """Send a piece: True; nothing there: False; every writer gone: None."""
        try:
            piece = os.read(reader, _PIECE)
        except BlockingIOError:
            return False
        if not piece:
            return None
        self._send(bytes([stream]) + piece)
        return True


def _text(descriptor: int, *, line_buffering: bool) -> io.TextIOWrapper:
    raw = io.FileIO(descriptor, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=line_buffering
    )
