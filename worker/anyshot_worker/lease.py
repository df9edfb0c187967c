"""Keeping a lease alive while an attempt runs, and noticing when it must stop."""

from __future__ import annotations

import logging
import threading
import time
from enum import StrEnum
from types import TracebackType

from anyshot_core.wire.jobs import Job
from anyshot_core.wire.worker_api import (
    HEARTBEAT_SECONDS,
    HeartbeatReply,
    Measure,
    Progress,
    Stage,
)
from anyshot_worker.client import (
    OUTAGE_SECONDS,
    PlatformUnreachable,
    StaleEpoch,
    WorkerApiError,
    WorkerClient,
)
from anyshot_worker.meter import Meter

log = logging.getLogger(__name__)

# For a task, or a checkpoint of training, when a worker is stopped; what comes of it is stored in the seconds after.
GRACE_SECONDS = 12.0


class StopReason(StrEnum):
    """Why an attempt must end before it is done."""

    CANCELLED = "cancelled"
    LOST = "lost"  # the lease went to another attempt, this worker stood still, or the platform was away for too long
    DRAINING = "draining"  # this worker is being stopped


class Lease:
    """Beats in a thread of its own from entering to leaving; `stop_reason` is set once and stays.

    The participant's code never runs in this process, so a beat is late only when the whole worker is; then the
    platform takes the run back, and the next beat is told so. While the platform is away the attempt goes on past its
    lease: if another one has the run by then, the epoch keeps out what this one still sends.
    """

    def __init__(self, client: WorkerClient, assignment: Job, draining: threading.Event) -> None:
        self._client, self._assignment, self._draining = client, assignment, draining
        self._progress = Progress(stage=Stage.PREPARING)
        self.meter = Meter()
        self._ended = threading.Event()
        self._sending = threading.Lock()  # until what could not be sent is given back: the next one takes it
        self._stop_reason: StopReason | None = None
        self._grace_ends = 0.0
        self._lease_seconds, self._extended = assignment.lease_seconds, time.monotonic()
        self._next = 0.0  # when the next beat is due
        self._thread = threading.Thread(target=self._beat, name=f"lease-{assignment.run_id}", daemon=True)

    def __enter__(self) -> Lease:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join(timeout=HEARTBEAT_SECONDS + 1)

    @property
    def stop_reason(self) -> StopReason | None:
        """Why to stop now; None to go on."""
        if self._stop_reason is None and self._draining.is_set():
            self._stop_reason = StopReason.DRAINING
        return self._stop_reason

    @property
    def lets_task_end(self) -> bool:
        """Whether a worker that is being stopped may end the task that it is at, or save the training."""
        stages = (Stage.META_TRAINING, Stage.META_TESTING)
        if self.stop_reason is not StopReason.DRAINING or self._progress.stage not in stages:
            return False
        self._grace_ends = self._grace_ends or time.monotonic() + GRACE_SECONDS
        return time.monotonic() < self._grace_ends

    @property
    def progress(self) -> Progress:
        """Where the attempt stands now: what the next beat tells, or would tell."""
        return self._progress

    def report(self, progress: Progress) -> None:
        """What the next beat tells the platform."""
        self._progress = progress
        self.meter.enter(progress.stage)

    def flush(self) -> None:
        """Send the last measures, before the attempt is announced as ended; what cannot be sent is lost."""
        if self._stop_reason is StopReason.LOST:
            return
        with self._sending:
            while measures := self.meter.take(everything=True):
                try:
                    self._tell(measures)
                except StaleEpoch:
                    self._stop_reason = StopReason.LOST
                    return
                except WorkerApiError as error:
                    log.warning("the last measures of run %s are lost: %s", self._assignment.run_id, error)
                    return

    def _tell(self, measures: list[Measure]) -> HeartbeatReply:
        return self._client.heartbeat(
            self._assignment.run_id, self._assignment.epoch, self._progress, measures
        )

    def _send(self) -> HeartbeatReply:
        with self._sending:
            measures = self.meter.take()
            try:
                return self._tell(measures)
            except PlatformUnreachable:
                self.meter.give_back(measures)
                raise

    def _beat(self) -> None:
        asked = time.monotonic()
        while not self._ended.wait(HEARTBEAT_SECONDS):
            before, asked = asked, time.monotonic()
            if asked > before + self._lease_seconds:
                # This process itself stood still (a frozen machine, a paused process), and with it the clock of the
                # participant's budget went on: nothing that this attempt measured may count.
                self._stop_reason = StopReason.LOST
                return
            self._sample()
            if asked < self._next:
                continue
            try:
                reply = self._send()
            except StaleEpoch:
                self._stop_reason = StopReason.LOST
                return
            except WorkerApiError as error:
                # The platform is away, or refuses what this beat told; the next may do.
                log.warning("no heartbeat for run %s: %s", self._assignment.run_id, error)
                if time.monotonic() > self._extended + max(self._lease_seconds, OUTAGE_SECONDS):
                    self._stop_reason = StopReason.LOST
                    return
                continue
            self._heed(reply, asked)

    def _sample(self) -> None:
        """What an attempt uses is told as far as it can be measured: no figure is worth the lease."""
        try:
            self.meter.sample()
        except Exception:
            log.exception("run %s: what it uses cannot be measured", self._assignment.run_id)

    def _heed(self, reply: HeartbeatReply, asked: float) -> None:
        self._lease_seconds, self._extended = reply.lease_seconds, asked
        self._next = asked + reply.pace_seconds
        if reply.cancel and self._stop_reason is None:
            self._stop_reason = StopReason.CANCELLED
