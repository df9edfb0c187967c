"""Threads that send what transactions left behind: rings at once after their commit, e-mails, webhooks.

The database row is the truth. A process that dies between commit and sending loses nothing, because every
dispatcher, in whatever process, looks at the whole outbox each second.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from anyshot_platform.database import Database
from anyshot_platform.queue.outbox import OUTBOX_KEY

log = logging.getLogger(__name__)


class Dispatcher:
    """Calls `send` in a thread of its own: when woken by a commit that left something, and each `every` seconds."""

    def __init__(
        self, database: Database, name: str, send: Callable[[], object], *, every: float = 1.0
    ) -> None:
        self._database = database
        self._send = send
        self._every = every
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._database.after_commit.append(self._committed)
        self._thread.start()

    def stop(self) -> None:
        """Finish what is being sent and end the thread."""
        self._stopping.set()
        self._wake.set()
        if self._committed in self._database.after_commit:
            self._database.after_commit.remove(self._committed)
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    def _committed(self, session: Session) -> None:
        if session.info.get(OUTBOX_KEY, False):
            self._wake.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._send()
            except (DBAPIError, OSError) as error:  # the database restarts: try again in a moment
                log.warning("the outbox could not be read", extra={"error": str(error)})
                self._stopping.wait(self._every)
            self._wake.wait(self._every)
            self._wake.clear()
