"""A run's log on its way to the platform: numbered, batched, and never in the way of the task server."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from typing import Literal

from anyshot_core.taskserver.job import LogLine
from anyshot_core.wire.jobs import Job
from anyshot_core.wire.worker_api import Event, Stage
from anyshot_worker.client import RequestRefused, StaleEpoch, WorkerApiError, WorkerClient

log = logging.getLogger(__name__)

BATCH = 500  # lines a request
INTERVAL = 0.1  # seconds: what a reader waits for at most, beside the network and the page's own poll
BACKLOG = 100_000  # lines held while the platform is away; the file keeps them all


class LogShipper:
    """Takes lines from the task server, writes them to a file and sends them in batches from its own thread."""

    def __init__(self, client: WorkerClient, assignment: Job, file: Path) -> None:
        self._client, self._assignment, self.file = client, assignment, file
        self._out = file.open("w", encoding="utf-8", errors="replace")
        self._waiting: list[Event] = []
        self._next = self._lost = 0
        self._stage = Stage.PREPARING
        self._guard = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ship, name=f"log-{assignment.run_id}", daemon=True)
        self._thread.start()

    def add(self, line: LogLine) -> None:
        """Queue one line; returns at once."""
        with self._guard:
            self._stage = line.stage
            self._out.write(f"[{line.stage}] [{line.stream}] {line.text}\n")
            if len(self._waiting) < BACKLOG:
                self._say_lost(line.stage)
                self._queue(_stream(line), line.stage, line.text)
            else:
                self._lost += 1

    def _queue(
        self, stream: Literal["stdout", "stderr", "platform", "logger"], stage: Stage, text: str
    ) -> None:
        self._waiting.append(Event(seq=self._next, at=time.time(), stream=stream, stage=stage, text=text))
        self._next += 1

    def _say_lost(self, stage: Stage) -> None:
        """Say in the log itself how many lines are missing at this place."""
        if self._lost:
            words = f"{self._lost:,} lines are missing here: they came faster than they could be sent."
            self._queue("platform", stage, words)
            self._lost = 0

    def close(self) -> Path:
        """Send what is left, and return the complete log's file."""
        with self._guard:
            self._say_lost(self._stage)
        self._ended.set()
        self._thread.join(timeout=30)
        self._out.close()
        return self.file

    def _ship(self) -> None:
        while not self._ended.wait(INTERVAL):
            self._send_all()
        self._send_all()

    def _send_all(self) -> None:
        while batch := self._take():
            try:
                self._client.send_events(self._assignment.run_id, self._assignment.epoch, batch)
            except (StaleEpoch, RequestRefused) as error:
                log.info("log of run %s not wanted any more: %s", self._assignment.run_id, error)
                return
            except WorkerApiError as error:
                log.warning("log of run %s: %s", self._assignment.run_id, error)
                with self._guard:
                    self._waiting[:0] = batch
                return

    def _take(self) -> list[Event]:
        with self._guard:
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            return batch


def _stream(line: LogLine) -> Literal["stdout", "stderr", "platform", "logger"]:
    match line.stream:
        case "stdout" | "stderr" | "logger" as stream:
            return stream
        case _:
            return "platform"
