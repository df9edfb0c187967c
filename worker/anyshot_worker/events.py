"""A run's log on its way to the platform: numbered, batched, and never in the way of the task server."""

import logging
import threading
import time
from collections import deque
from pathlib import Path
from typing import Literal

from anyshot_core.taskserver.job import LogLine
from anyshot_core.wire.jobs import Job
from anyshot_core.wire.worker_api import Event
from anyshot_worker.client import RequestRefused, StaleEpoch, WorkerApiError, WorkerClient

log = logging.getLogger(__name__)

BATCH = 500  # lines a request
INTERVAL = (
    0.1  # seconds: what a reader of a site with few workers waits for, beside network and the page's own poll
)
BACKLOG = 100_000  # lines held while the platform is away; the file keeps them all
LATEST = 1_000  # the last lines, which are sent even where there are too many
PATIENCE = 20  # seconds in which all lines that wait at the end of a run are sent, and then the last ones


class LogShipper:
    """Takes lines from the task server, writes them to a file and sends them in batches from its own thread."""

    def __init__(self, client: WorkerClient, assignment: Job, file: Path) -> None:
        self._client, self._assignment, self.file = client, assignment, file
        self._out = file.open("w", encoding="utf-8", errors="replace")
        self._waiting: list[Event] = []
        self._latest: deque[tuple[float, LogLine]] = deque(maxlen=LATEST)
        self._next = self._lost = 0
        self._guard = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ship, name=f"log-{assignment.run_id}", daemon=True)
        self._thread.start()

    def add(self, line: LogLine) -> None:
        """Queue one line; returns at once."""
        with self._guard:
            self._out.write(f"[{line.stage}] [{line.stream}] {line.text}\n")
            if len(self._waiting) < BACKLOG:
                self._catch_up()
                self._queue(time.time(), line)
            else:
                self._lost += len(self._latest) == LATEST
                self._latest.append((time.time(), line))

    def _queue(self, at: float, line: LogLine) -> None:
        more = {"left_out": line.left_out} if line.left_out else {}
        event = Event(seq=self._next, at=at, stream=_stream(line), stage=line.stage, text=line.text, **more)
        self._waiting.append(event)
        self._next += 1

    def _catch_up(self) -> None:
        """Queue the last lines that came while too many waited, below how many are missing before them."""
        if self._lost:
            at, line = self._latest[0]
            self._queue(at, LogLine("platform", line.stage, _missing_words(self._lost), self._lost))
            self._lost = 0
        for at, line in self._latest:
            self._queue(at, line)
        self._latest.clear()

    def close(self) -> Path:
        """Send what is left, of too much the end, and return the complete log's file."""
        with self._guard:
            self._catch_up()
        self._ended.set()
        self._thread.join(timeout=PATIENCE)
        if self._thread.is_alive():
            with self._guard:
                self._leave_the_end()
            self._thread.join(timeout=PATIENCE)
        try:
            self._out.close()
        except OSError as error:
            log.warning("the file of the log of run %s is cut: %s", self._assignment.run_id, error)
        return self.file

    def _leave_the_end(self) -> None:
        """Of the lines that wait keep the last ones, below how many are missing before them."""
        gone, self._waiting = self._waiting[:-LATEST], self._waiting[-LATEST:]
        if gone:
            left_out = len(gone) + sum(line.left_out for line in gone)
            words = {"stream": "platform", "text": _missing_words(left_out), "left_out": left_out}
            self._waiting[:0] = [gone[-1].model_copy(update=words)]

    def _ship(self) -> None:
        while not self._ended.wait(max(INTERVAL, self._client.pace_seconds)):
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


def _missing_words(lines: int) -> str:
    return f"{lines:,} lines are missing here: they came faster than they could be sent."


def _stream(line: LogLine) -> Literal["stdout", "stderr", "platform", "logger"]:
    match line.stream:
        case "stdout" | "stderr" | "logger" as stream:
            return stream
        case _:
            return "platform"
