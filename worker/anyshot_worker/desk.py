"""Where claims are made: one at a time for each slot, until there is nothing left to do."""

from __future__ import annotations

import logging
import threading

from anyshot_starting_kit.wire.worker_api import Assignment, WorkerInfo
from anyshot_worker.attempt import Site, carry_out
from anyshot_worker.client import WorkerApiError

log = logging.getLogger(__name__)


class Desk:
    """Claims runs and carries them out, in as many threads at once as there are slots.

    Bells and the poller both end here, so that a worker goes on while the broker is away.
    """

    def __init__(self, site: Site, describe: WorkerInfo, slots: int, poll_seconds: float) -> None:
        self._site, self._describe = site, describe
        self._slots = threading.BoundedSemaphore(slots)
        self._poll_seconds = poll_seconds
        self._live: set[str] = set()
        self._guard = threading.Lock()
        self._poller = threading.Thread(target=self._poll, name="poller", daemon=True)

    def open(self) -> None:
        """Start asking for work without being rung."""
        self._poller.start()

    @property
    def idle(self) -> bool:
        """Whether nothing runs here."""
        with self._guard:
            return not self._live

    def work(self) -> None:
        """Claim and carry out runs until none is left for this worker; waits for a free slot first."""
        if self._site.draining.is_set():
            return
        with self._slots:
            while not self._site.draining.is_set() and (assignment := self._claim()) is not None:
                self._carry_out(assignment)

    def _claim(self) -> Assignment | None:
        if not self._site.sandboxes.usable():
            # What is claimed now would fail at once, and use up the few attempts that a run has.
            log.warning("no claim: the sandbox cannot be used at present")
            return None
        worker = self._describe.model_copy(update={"packs": self._site.workspace.digests()})
        try:
            return self._site.client.claim(worker)
        except WorkerApiError as error:
            log.warning("no claim: %s", error)
            return None

    def _carry_out(self, assignment: Assignment) -> None:
        with self._guard:
            self._live.add(assignment.run_id)
            self._site.sandboxes.keep(set(self._live))
        log.info("run %s, attempt %d: claimed", assignment.run_id, assignment.attempt)
        try:
            carry_out(assignment, self._site)
        finally:
            with self._guard:
                self._live.discard(assignment.run_id)
                self._site.sandboxes.keep(set(self._live))
        log.info("run %s, attempt %d: ended", assignment.run_id, assignment.attempt)

    def _poll(self) -> None:
        while not self._site.draining.wait(self._poll_seconds):
            if self._slots.acquire(blocking=False):
                self._slots.release()
                self.work()
