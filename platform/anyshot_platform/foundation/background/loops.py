"""Threads that work in rounds until they are stopped. Nothing that a round raises ends one.

Each thread notes its rounds in the table `loops`, so that `/ready`, the operators' page and an alert know how long ago
the last one began, in whatever process it runs.
"""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from anyshot_platform.foundation.background.models import LoopRound
from anyshot_platform.foundation.database import Database, now

log = logging.getLogger(__name__)
BACKGROUND = (
    "alerts",
    "emails",
    "sweeper",
    "webhooks",
)  # somewhere a process of the site has to run each of these
_NOTE_EVERY = 5.0  # seconds: rounds follow one another faster than they need to be written down


def this_process() -> str:
    """The name of this process in the table `loops`."""
    return f"{socket.gethostname()}:{os.getpid()}"[-64:]


class Loop:
    """A thread that calls `work` again and again: each `every` seconds, and at once when woken."""

    def __init__(
        self, database: Database, name: str, work: Callable[[], object], *, every: float = 1.0
    ) -> None:
        self._database = database
        self._name = name
        self._work = work
        self._every = every
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._noted_at = float("-inf")
        self._failures = 0
        self._error = ""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread that does the loop's rounds."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the round that is under way and end the thread."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def wake(self) -> None:
        """Begin the next round now."""
        self._wake.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._note()
            self._round()
            self._wake.wait(self._every)
            self._wake.clear()
        self._attempt(self._forget)

    def _round(self) -> None:
        error = self._attempt(self._work)
        if error is None:
            return
        self._failures += 1
        self._error = f"{type(error).__name__}: {error}"[:1000]
        self._noted_at = float("-inf")
        self._note()
        self._stopping.wait(self._every)

    def _attempt(self, work: Callable[[], object]) -> Exception | None:
        try:
            work()
        except Exception as error:
            log.exception("a round of a background thread failed", extra={"loop": self._name})
            return error
        return None

    def _note(self) -> None:
        if time.monotonic() - self._noted_at >= _NOTE_EVERY and self._attempt(self._write_round) is None:
            self._noted_at = time.monotonic()

    def _write_round(self) -> None:
        with self._database.writing() as session:
            session.merge(
                LoopRound(
                    name=self._name,
                    process=this_process(),
                    last_at=now(),
                    failures=self._failures,
                    error=self._error,
                )
            )

    def _forget(self) -> None:
        with self._database.writing() as session:
            session.execute(
                delete(LoopRound).where(LoopRound.name == self._name, LoopRound.process == this_process())
            )


@dataclass(frozen=True)
class LoopState:
    """How a background thread is doing; of several processes that run it, the one whose last round is the newest."""

    name: str
    process: str
    last_at: datetime | None  # None: no process has run it
    failures: int
    error: str

    @property
    def age(self) -> float:
        """Seconds since its last round began."""
        return float("inf") if self.last_at is None else (now() - self.last_at).total_seconds()


def read_loops(session: Session, process: str | None = None) -> list[LoopState]:
    """The background threads of the site, or those of one process, by name."""
    query = select(LoopRound).order_by(LoopRound.last_at)
    rows = session.scalars(query if process is None else query.where(LoopRound.process == process)).all()
    newest = {row.name: row for row in rows}
    names = sorted({*newest, *(BACKGROUND if process is None else ())})
    return [_state(name, newest.get(name)) for name in names]


def _state(name: str, row: LoopRound | None) -> LoopState:
    if row is None:
        return LoopState(name, "", None, 0, "")
    return LoopState(name, row.process, row.last_at, row.failures, row.error)


def forget_dead_processes(session: Session, before: datetime) -> None:
    """Remove the rounds of processes that are long gone, where another process runs the same loop."""
    running = select(LoopRound.name).where(LoopRound.last_at >= before).scalar_subquery()
    session.execute(
        delete(LoopRound)
        .where(LoopRound.last_at < before, LoopRound.name.in_(running))
        .execution_options(synchronize_session=False)
    )
