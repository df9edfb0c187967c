"""A log that comes faster than it can be sent says how many lines are missing, and keeps them all in its file."""

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anyshot_core.taskserver.job import LogLine
from anyshot_core.wire.worker_api import Event, Stage
from anyshot_worker import events
from anyshot_worker.client import WorkerApiError


def fill_disk(shipper: events.LogShipper) -> None:
    """From here on there is no room for what it writes."""
    shipper._out.close()  # pyright: ignore[reportPrivateUsage]
    shipper._out = Path("/dev/full").open("w")  # noqa: SIM115 # pyright: ignore[reportPrivateUsage]


class _Client:
    """A platform that is away until it is called back."""

    def __init__(self) -> None:
        self.away, self.events = True, list[Event]()
        self.slow: threading.Event | None = None
        self.pace_seconds = 0.0

    def send_events(self, run_id: str, epoch: int, batch: list[Event]) -> None:
        if self.away:
            raise WorkerApiError("away")
        if self.slow:
            assert self.slow.wait(60)
        self.events += batch


def test_lines_that_cannot_be_sent_are_counted_where_they_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last ones are sent all the same: a traceback stands at the end."""
    monkeypatch.setattr(events, "BACKLOG", 5)
    monkeypatch.setattr(events, "LATEST", 3)
    client = _Client()
    job = SimpleNamespace(run_id="r", epoch=1)
    shipper = events.LogShipper(cast(Any, client), cast(Any, job), tmp_path / "log.txt")
    lines = [f"line {number}" for number in range(12)]
    for line in lines:
        shipper.add(LogLine("stdout", Stage.META_TRAINING, line))
    client.away = False
    written = shipper.close().read_text().splitlines()
    sent = [event.text for event in client.events]
    assert sent[:5] == lines[:5] and sent[6:] == lines[-3:]
    assert sent[5].startswith("4 lines are missing here") and client.events[5].stream == "platform"
    assert [event.seq for event in client.events] == list(range(9))
    assert [line.rpartition("] ")[2] for line in written] == lines


def test_parts_of_a_log_are_as_far_apart_as_the_platform_asks(tmp_path: Path) -> None:
    client = _Client()
    client.away, client.pace_seconds = False, 600.0
    job = SimpleNamespace(run_id="r", epoch=1)
    shipper = events.LogShipper(cast(Any, client), cast(Any, job), tmp_path / "log.txt")
    shipper.add(LogLine("stdout", Stage.META_TRAINING, "waits"))
    time.sleep(0.3)
    assert client.events == []
    shipper.close()
    assert [event.text for event in client.events] == ["waits"]


def test_a_full_disk_does_not_keep_a_log_from_its_end(tmp_path: Path) -> None:
    """The platform has the lines, and is told how the run ended; the file lacks some."""
    client = _Client()
    client.away = False
    job = SimpleNamespace(run_id="r", epoch=1)
    shipper = events.LogShipper(cast(Any, client), cast(Any, job), tmp_path / "log.txt")
    fill_disk(shipper)
    shipper.add(LogLine("stdout", Stage.META_TRAINING, "a line"))
    assert shipper.close().exists()
    assert [event.text for event in client.events] == ["a line"]


def test_of_more_lines_than_can_be_sent_at_the_end_of_a_run_the_last_are_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "BATCH", 4)
    monkeypatch.setattr(events, "LATEST", 3)
    monkeypatch.setattr(events, "PATIENCE", 1)
    client, late = _Client(), threading.Event()
    client.away, client.slow = False, late
    job = SimpleNamespace(run_id="r", epoch=1)
    shipper = events.LogShipper(cast(Any, client), cast(Any, job), tmp_path / "log.txt")
    cut = shipper._leave_the_end  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(shipper, "_leave_the_end", lambda: (cut(), late.set()))
    lines = [f"line {number}" for number in range(40)]
    with shipper._guard:  # pyright: ignore[reportPrivateUsage] - the first batch is a whole one
        for line in lines:
            shipper._queue(1.0, LogLine("stderr", Stage.META_TRAINING, line))  # pyright: ignore[reportPrivateUsage]
    shipper.close()
    sent = [event.text for event in client.events]
    assert sent[:4] == lines[:4] and sent[5:] == lines[-3:]
    assert sent[4].startswith("33 lines are missing here") and client.events[4].stream == "platform"
    numbers = [event.seq for event in client.events]
    assert numbers == sorted(set(numbers))
