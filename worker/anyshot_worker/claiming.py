"""Where claims are made: one at a time for each slot, until there is nothing left to do."""

import logging
import os
import threading
from importlib.metadata import version
from importlib.util import find_spec

import psutil

from anyshot_core.wire.jobs import Job
from anyshot_core.wire.worker_api import API_VERSION, WorkerInfo
from anyshot_worker.attempt import Site
from anyshot_worker.carry_out import carry_out
from anyshot_worker.client import (
    PlatformUnreachable,
    TooOld,
    Unreadable,
    WorkerApiError,
)
from anyshot_worker.sandbox import AttemptKey, Sandboxes

log = logging.getLogger(__name__)


def announce(name: str, hardware_class: str, sandboxes: Sandboxes, *, inventories: bool = True) -> WorkerInfo:
    """The message that goes with every claim; the packs in the cache are filled in then.

    To look for the `inventories` of images takes a box for each.
    """
    return WorkerInfo(
        version=API_VERSION,
        name=name,
        hardware_class=hardware_class,
        release=version("anyshot-worker"),
        cores=os.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        gpus=sandboxes.gpu_names(),
        images=sandboxes.image_names(),
        image_digests=sandboxes.image_digests(),
        cpu_images=sandboxes.cpu_images(),
        inventories=sandboxes.inventories() if inventories else {},
        sandbox=sandboxes.name,
        sandbox_reduced=sandboxes.reduced,
        analyses=find_spec("torch") is not None,  # a worker's image may do without it
    )


class RunClaimer:
    """Claims runs and carries them out, in as many threads at once as there are slots.

    Bells and the poller both end here, so that a worker goes on while the broker is away.
    """

    def __init__(self, site: Site, describe: WorkerInfo, slots: int, poll_seconds: float) -> None:
        self._site, self._describe = site, describe
        self._slots = threading.BoundedSemaphore(slots)
        self._poll_seconds = poll_seconds
        self._live: set[AttemptKey] = set()
        self._guard = threading.Lock()
        self._in_vain = False
        self._poller = threading.Thread(target=self._poll, name="poller", daemon=True)

    def open(self) -> None:
        """Start asking for work without being rung."""
        self._poller.start()

    @property
    def idle(self) -> bool:
        """Whether nothing runs here."""
        with self._guard:
            return not self._live

    @property
    def done(self) -> bool:
        """Whether nothing runs here, and the last claim, which the platform answered, brought nothing."""
        return self._in_vain and self.idle

    def release_live(self) -> None:
        """Give the leases of the attempts that have not ended back, whatever they are at."""
        with self._guard:
            live = set(self._live)
        for attempt in live:
            try:
                self._site.client.release(attempt.run_id, attempt.epoch)
            except PlatformUnreachable as error:  # it would take the others no better
                log.error("leases are not given back: %s", error)
                return
            except WorkerApiError as error:
                log.warning("the lease of run %s is not given back: %s", attempt.run_id, error)

    def work(self) -> None:
        """Claim and carry out runs until none is left for this worker; waits for a free slot first."""
        if self._site.draining.is_set():
            return
        with self._slots:
            while not self._site.draining.is_set() and (assignment := self._claim()) is not None:
                self._carry_out(assignment)

    def _claim(self) -> Job | None:
        worker = self._able()
        self._in_vain = worker is None
        if worker is None:
            return None
        try:
            assignment = self._site.client.claim(worker)
            self._in_vain = assignment is None
            return assignment
        except Unreadable as error:
            self._give_back(error)
            return None
        except TooOld as error:
            self._in_vain = True
            log.error("this worker gets no work: %s", error)
            return None
        except WorkerApiError as error:
            log.warning("no claim: %s", error)
            return None

    def _able(self) -> WorkerInfo | None:
        """What this worker can do now; None for nothing: a claim would fail at once, and a run has few attempts."""
        if not self._site.workspace.has_room():
            log.warning("no claim: the disk of the workspace is full")
            return None
        if not self._site.sandboxes.usable():
            log.warning("no claim: the sandbox cannot be used at present")
            return None
        gpus = self._free_gpus()
        if self._describe.gpus and not gpus:
            log.log(logging.WARNING if self.idle else logging.INFO, "no claim: all GPUs are in use or sick")
            return None
        found = {
            "gpus": gpus,
            "packs": self._site.workspace.digests(),
            "image_digests": self._site.sandboxes.image_digests(),  # a name may mean another image by now
            "cpu_images": self._site.sandboxes.cpu_images(),
            "inventories": self._site.sandboxes.inventories(),
        }
        return self._describe.model_copy(update=found)

    def _free_gpus(self) -> list[str]:
        """What a run could have now of the devices found at the start; where none was found, none is asked."""
        free = set(self._site.sandboxes.free_gpu_names()) if self._describe.gpus else set[str]()
        return [name for name in self._describe.gpus if name in free]

    def _give_back(self, error: Unreadable) -> None:
        """A job of a later release is for another worker."""
        log.error("%s; it goes back into the queue: upgrade this worker", error)
        self._site.client.release(error.claimed.run_id, error.claimed.epoch, error.problem)

    def _carry_out(self, assignment: Job) -> None:
        attempt = AttemptKey(assignment.run_id, assignment.epoch)
        with self._guard:
            self._live.add(attempt)
            self._site.sandboxes.retain_only(set(self._live))
        log.info("run %s, attempt %d: claimed", assignment.run_id, assignment.attempt)
        try:
            carry_out(assignment, self._site)
        finally:
            with self._guard:
                self._live.discard(attempt)
                self._site.sandboxes.retain_only(set(self._live))
        log.info("run %s, attempt %d: ended", assignment.run_id, assignment.attempt)

    def _poll(self) -> None:
        polled: list[threading.Thread] = []
        while not self._site.draining.wait(max(self._poll_seconds, self._site.client.pace_seconds)):
            if self._slots.acquire(blocking=False):
                self._slots.release()
                # A run takes hours, in which the other slots have to be asked for too.
                thread = threading.Thread(target=self._work_on, name="polled", daemon=True)
                thread.start()
                polled = [*(one for one in polled if one.is_alive()), thread]
        for thread in polled:
            thread.join()

    def _work_on(self) -> None:
        try:
            self.work()
        except Exception:
            log.exception("an error of the worker: it goes on")
