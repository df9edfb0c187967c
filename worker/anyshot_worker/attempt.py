"""One attempt of one run while it lasts: what its stages work with, what it used, and how it may end early."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from anyshot_core.taskserver.job import Failure, LogLine, TimeUse
from anyshot_core.wire.jobs import Job
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import ArtifactRef, PlatformStep, Progress, Provenance, Stage, Usage
from anyshot_worker.client import WorkerClient
from anyshot_worker.events import LogShipper
from anyshot_worker.lease import Lease
from anyshot_worker.sandbox import AttemptKey, Sandboxes
from anyshot_worker.workspace import HeldFiles, Workspace

J = TypeVar("J", bound=Job)


@dataclass(frozen=True)
class Site:
    """What every attempt on this worker uses: one platform, one workspace, one set of sandboxes."""

    name: str
    client: WorkerClient
    workspace: Workspace
    sandboxes: Sandboxes
    draining: threading.Event


class Stopped(Exception):
    """The attempt must end now: cancelled, draining, or its lease is lost."""


class Failed(Exception):
    """The attempt failed with a verdict."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class BadAssignment(Exception):
    """What the organizer set cannot be run; the text says what to change."""

    def __init__(self, verdict: Verdict, message: str) -> None:
        super().__init__(message)
        self.verdict = verdict


def failure_fields(failure: Failure) -> dict[str, Any]:
    """The fields that the failure of a run and that of one of its parts have in common."""
    names = ("verdict", "message", "detail", "task_index", "ways", "shots")
    return {name: getattr(failure, name) for name in names}


@dataclass
class AttemptAccount:
    """What an attempt used and stored so far, told with its end, whichever that is: it is only added to."""

    usage: Usage = field(default_factory=Usage)
    provenance: Provenance = field(default_factory=Provenance)
    artifacts: list[ArtifactRef] = field(default_factory=list)
    platform_seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    odd_seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def begin_with(self, earlier: Usage) -> None:
        """Count what earlier attempts used of processor and memory; their seconds are in the time of this one."""
        names = ("cpu_seconds", "memory_peak_bytes")
        self.usage = Usage(**{name: getattr(earlier, name) for name in names})

    def with_boxes(self, usage: Usage) -> Usage:
        """What is used so far, with that of a conversation that goes on."""
        before = self.usage
        totals = {
            "participant_seconds": before.participant_seconds + usage.participant_seconds,
            "meta_test_seconds": before.meta_test_seconds + usage.meta_test_seconds,
            "cpu_seconds": before.cpu_seconds + usage.cpu_seconds,
            "memory_peak_bytes": max(before.memory_peak_bytes, usage.memory_peak_bytes),
        }
        return usage.model_copy(update=totals)

    def add(self, usage: Usage, provenance: Provenance, time: TimeUse) -> None:
        """Add one conversation with the code: its times, CPU and memory; of training those of the last one hold."""
        self.usage, self.provenance = self.with_boxes(usage), provenance
        for step, seconds in time.platform.items():
            self.platform_seconds[step] += seconds
        self.add_odd(time)

    def add_odd(self, time: TimeUse) -> None:
        """Add what took longer in a box than it may, and was charged to nobody."""
        for step, seconds in time.odd.items():
            self.odd_seconds[step] += seconds

    def fields(self) -> dict[str, Any]:
        """The fields that `Complete` and `Fail` have in common, with the platform's own times."""
        ours = {"platform_seconds": dict(self.platform_seconds), "odd_seconds": dict(self.odd_seconds)}
        return {
            "artifacts": self.artifacts,
            "usage": self.usage.model_copy(update=ours),
            "provenance": self.provenance,
        }


@dataclass(frozen=True)
class RunAttempt(Generic[J]):
    """What the stages of one attempt work with: its job, a folder of its own, its lease, its log, cached files."""

    site: Site
    assignment: J
    folder: Path
    lease: Lease
    log: LogShipper
    files: HeldFiles
    account: AttemptAccount = field(default_factory=AttemptAccount)

    @property
    def key(self) -> AttemptKey:
        """Which attempt of which run it is."""
        return AttemptKey(self.assignment.run_id, self.assignment.epoch)

    def check(self) -> None:
        """Raise `Stopped` when there is a reason to stop."""
        if self.is_stopped():
            raise Stopped

    def is_stopped(self) -> bool:
        """Whether there is a reason to stop."""
        return self.lease.stop_reason is not None

    def must_stop(self) -> bool:
        """Whether to stop in the middle of what goes on: a worker that is stopped lets a task end, within its grace."""
        return self.is_stopped() and not self.lease.lets_task_end

    @contextmanager
    def step(self, step: PlatformStep) -> Iterator[None]:
        """Time what the platform does beside the participant's code, and stop before it where asked to."""
        self.check()
        began = time.monotonic()
        try:
            yield
        finally:
            self.account.platform_seconds[step.value] += time.monotonic() - began

    def enter(self, stage: Stage, text: str) -> None:
        """Say that a stage begins: a line of the platform in the run's log, and the next heartbeat."""
        self.lease.report(Progress(stage=stage, message=text))
        self.say(stage, text)

    def say(self, stage: Stage, text: str) -> None:
        """A line of the platform in the run's log."""
        self.log.add(LogLine("platform", stage, text))

    def upload(self, *paths: Path | None) -> None:
        """Upload these files, as artifacts by their names; of those that are None nothing was made."""
        for path in filter(None, paths):
            with self.step(PlatformStep.UPLOAD):
                self.store(path)

    def store(self, path: Path) -> None:
        """Upload one file whether the attempt is to stop or not."""
        run, epoch = self.assignment.run_id, self.assignment.epoch
        self.account.artifacts.append(self.site.client.upload(run, epoch, path.name, path))
