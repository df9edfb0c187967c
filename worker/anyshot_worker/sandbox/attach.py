"""The attach stream of a container: standard input one way, standard output the other, standard error beside it.

Docker frames the output: one byte stream number, three of zero, four of length, the payload. The frame comes from
the daemon, the payload from the submission, and only what is asked for is read, so that a flood stays in the pipe
where it costs the flooder.
"""

import contextlib
import io
import select
import socket
import struct
import time

from anyshot_core.taskserver.channel import ChannelClosed

HEADER = struct.Struct(">BxxxI")
STDERR = 2
CHUNK = 64 << 10
DIAGNOSTIC_BYTES = 64 << 10  # kept of standard error, for operators


class AttachStream:
    """The hijacked connection of `POST /containers/ID/attach`."""

    def __init__(self, connection: socket.socket, stderr_limit: int, holder: io.RawIOBase) -> None:
        """`holder` is the client library's file on the socket; the socket closes when both are closed."""
        self._socket: socket.socket | None = connection
        self._holder = holder
        connection.setblocking(False)
        self._header = bytearray()
        self._left = 0
        self._stream = 0
        self._diagnostics = bytearray()
        self._stderr_left = stderr_limit

    @property
    def diagnostics(self) -> str:
        """The last of what went to standard error, past the runner."""
        return self._diagnostics.decode("utf-8", "backslashreplace")

    @property
    def flooded(self) -> bool:
        """Whether standard error took more than its limit; the stream then counts as ended."""
        return self._stderr_left < 0

    def send(self, data: bytes | memoryview, timeout: float) -> None:
        """Write all of `data`; raises TimeoutError or ChannelClosed."""
        view, deadline = memoryview(data).cast("B"), time.monotonic() + timeout
        while view:
            connection = self._open()
            try:
                view = view[connection.send(view[: 1 << 20]) :]
            except BlockingIOError:
                if not _ready(connection, deadline, write=True):
                    raise TimeoutError("the runner does not read") from None
            except OSError as error:
                raise ChannelClosed(str(error)) from error

    def recv(self, timeout: float) -> bytes | None:
        """Some of standard output, b"" at its end, None after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while not self.flooded and self._socket is not None:
            data = self._read(
                HEADER.size - len(self._header) if not self._left else min(self._left, CHUNK), deadline
            )
            if not data:
                return data
            if not self._left:
                self._take_header(data)
                continue
            self._left -= len(data)
            if self._stream != STDERR:
                return data
            self._keep(data)
        return b""

    def close(self) -> None:
        """Hang up; harmless when repeated, and a `recv` in another thread returns."""
        connection, self._socket = self._socket, None
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
            self._holder.close()

    def _take_header(self, data: bytes) -> None:
        self._header += data
        if len(self._header) == HEADER.size:
            self._stream, self._left = HEADER.unpack(self._header)
            self._header.clear()

    def _read(self, count: int, deadline: float) -> bytes | None:
        while (connection := self._socket) is not None:
            try:
                return connection.recv(count)
            except BlockingIOError:
                if not _ready(connection, deadline, write=False):
                    return None
            except OSError:
                return b""
        return b""

    def _keep(self, data: bytes) -> None:
        self._stderr_left -= len(data)
        self._diagnostics += data
        del self._diagnostics[:-DIAGNOSTIC_BYTES]

    def _open(self) -> socket.socket:
        if self._socket is None:
            raise ChannelClosed("this side hung up")
        return self._socket


def _ready(connection: socket.socket, deadline: float, *, write: bool) -> bool:
    """Whether the socket can be used before the deadline; a socket that another thread closed counts as ready."""
    left = deadline - time.monotonic()
    if left <= 0:
        return False
    try:
        poller = select.poll()
        poller.register(connection, select.POLLOUT if write else select.POLLIN)
        return bool(poller.poll(left * 1000))
    except (OSError, ValueError):
        return True
