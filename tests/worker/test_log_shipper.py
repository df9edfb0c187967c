"""A log that comes faster than it can be sent says how many lines are missing, and keeps them all in its file."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anyshot_core.taskserver.job import LogLine
from anyshot_core.wire.worker_api import Event, Stage
from anyshot_worker import events
from anyshot_worker.client import WorkerApiError


class _Client:
    """A platform that is away until it is called back."""

    def __init__(self) -> None:
        self.away, self.events = True, list[Event]()

    def send_events(self, run_id: str, epoch: int, batch: list[Event]) -> None:
        if self.away:
            raise WorkerApiError("away")
        self.events += batch


def test_lines_that_cannot_be_sent_are_counted_where_they_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "BACKLOG", 5)
    client = _Client()
    job = SimpleNamespace(run_id="r", epoch=1)
    shipper = events.LogShipper(cast(Any, client), cast(Any, job), tmp_path / "log.txt")
    for number in range(12):
        shipper.add(LogLine("stdout", Stage.META_TRAINING, f"line {number}"))
    client.away = False
    written = shipper.close().read_text()
    sent = [event.text for event in client.events]
    assert sent[:5] == [f"line {number}" for number in range(5)]
    assert "7 lines are missing here" in sent[5] and len(sent) == 6
    assert [event.seq for event in client.events] == list(range(6))
    assert "line 11" in written
