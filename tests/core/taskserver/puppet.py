"""A runner made of a few lines, to send what no honest runner sends: a thread and a socket pair, without torch."""

import contextlib
import json
import select
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from anyshot_core.taskserver.channel import ChannelClosed, Death, SharedBuffer
from anyshot_core.wire import messages
from anyshot_core.wire.frames import FROM_TASK_SERVER, TURN, Decoder, Frame, FrameType, encode

Act = Callable[["Puppet", Frame], None]


class Puppet:
    """Answers each command like an honest runner, except where `acts` says otherwise."""

    def __init__(self, stream: socket.socket, acts: dict[FrameType, Act]) -> None:
        self.stream, self.acts = stream, acts
        self.queries = self.ways = 0
        self.commands: list[FrameType] = []

    def send(self, kind: FrameType, payload: bytes = b"") -> None:
        self.stream.sendall(encode(kind, payload))

    def reply(self, kind: FrameType, command: Frame, body: bytes = b"") -> None:
        self.send(kind, command.payload[: TURN.size] + body)

    def play(self) -> None:
        with contextlib.suppress(OSError):
            self.act(Frame(FrameType.READY, b""))
            decoder = Decoder(FROM_TASK_SERVER)
            while data := self.stream.recv(1 << 16):
                for frame in decoder.feed(data):
                    self.commands.append(frame.kind)
                    self.act(frame)

    def act(self, frame: Frame) -> None:
        if frame.kind in self.acts:
            self.acts[frame.kind](self, frame)
        else:
            self.honest(frame)

    def honest(self, frame: Frame) -> None:
        if frame.kind is FrameType.READY:
            self.send(FrameType.READY, json.dumps({"version": "1"}).encode())
        elif frame.kind in _REPLIES:
            self.note(frame)
            self.reply(_REPLIES[frame.kind], frame)
        elif frame.kind is FrameType.QUERY:
            self.note(frame)
            self.answer(frame, np.zeros(self.queries))
        elif frame.kind is FrameType.EXPORT:
            self.send(FrameType.LEARNER, b"learner")
            self.reply(FrameType.EXPORTED, frame)

    def note(self, frame: Frame) -> None:
        if frame.kind is FrameType.SUPPORT:
            self.ways = messages.read_support(frame.payload)[0].ways
        if frame.kind is FrameType.QUERY:
            self.queries = messages.read_query(frame.payload)[0].images

    def answer(self, query: Frame, labels: np.ndarray) -> None:
        self.reply(FrameType.PREDICTIONS, query, labels.astype("<i8").tobytes())


_REPLIES = {
    FrameType.UNPACK: FrameType.UNPACKED,
    FrameType.IMPORT: FrameType.IMPORTED,
    FrameType.TRAIN: FrameType.TRAINED,
    FrameType.RESTORE: FrameType.RESTORED,
    FrameType.LOAD: FrameType.LOADED,
    FrameType.SUPPORT: FrameType.FITTED,
    FrameType.FINISH: FrameType.FINISHED,
}


class PuppetChannel:
    """The task server's end."""

    inside: type[Puppet] = Puppet

    def __init__(self, acts: dict[FrameType, Act], end: Death | None = None) -> None:
        self._ours, theirs = socket.socketpair()
        self._ours.setblocking(False)
        self.puppet = self.inside(theirs, acts)
        self._end = end or Death(exit_code=0)
        self.frozen: list[str] = []
        self.killed = False
        self._thread = threading.Thread(target=self.puppet.play, daemon=True)
        self._thread.start()

    def send(self, data: bytes | memoryview, timeout: float) -> None:
        view = memoryview(data)
        while view:
            if not select.select([], [self._ours], [], timeout)[1]:
                raise TimeoutError
            try:
                view = view[self._ours.send(view) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise ChannelClosed(str(error)) from error

    def recv(self, timeout: float) -> bytes | None:
        if not select.select([self._ours], [], [], timeout)[0]:
            return None
        return self._ours.recv(1 << 16)

    def freeze(self) -> None:
        self.frozen.append("freeze")

    def thaw(self) -> None:
        self.frozen.append("thaw")

    def kill(self) -> None:
        self.killed = True
        with contextlib.suppress(OSError):
            self._ours.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            self.puppet.stream.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.kill()
        self._thread.join(5)
        self._ours.close()
        self.puppet.stream.close()

    def death(self) -> Death:
        return self._end

    def offer_packs(self, packs: Sequence[Path]) -> str:
        return "/packs"

    @property
    def pixels(self) -> SharedBuffer | None:
        return None
