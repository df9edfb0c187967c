"""The pipes of a child process, closed by one thread while another one reads or writes."""

import os
import subprocess
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest

from anyshot_core.taskserver.channel import ChannelClosed
from anyshot_worker.sandbox.pipes import PipeStream


@pytest.fixture
def stream() -> Iterator[PipeStream]:
    with subprocess.Popen(
        ["sleep", "60"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        made = PipeStream(process, 1 << 10)
        yield made
        made.close()
        process.kill()


def hang_up_in(monkeypatch: pytest.MonkeyPatch, stream: PipeStream, name: str) -> None:
    """The other thread's `close` comes while this one has found nothing to do."""

    def full(*_: Any) -> NoReturn:
        monkeypatch.undo()
        stream.close()
        raise BlockingIOError

    monkeypatch.setattr(os, name, full)


def test_closing_ends_a_reader_quietly(stream: PipeStream, monkeypatch: pytest.MonkeyPatch) -> None:
    stream._drain_stderr()
    monkeypatch.setattr(stream, "_drain_stderr", lambda: None)
    hang_up_in(monkeypatch, stream, "read")
    assert stream.recv(5.0) == b""


def test_closing_tells_a_writer(stream: PipeStream, monkeypatch: pytest.MonkeyPatch) -> None:
    hang_up_in(monkeypatch, stream, "write")
    with pytest.raises(ChannelClosed):
        stream.send(b"words", 5.0)
