"""The state of one attempt of one run while it lasts, and how it may end early."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from anyshot_core.taskserver.job import Failure, LogLine, TimeUse
from anyshot_core.wire.jobs import Job
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


@dataclass
class AttemptContext(Generic[J]):
    """State of one attempt while it lasts; its parts are filled in as they become known."""

    site: Site
    assignment: J
    folder: Path
    lease: Lease
    log: LogShipper
    files: HeldFiles
    platform_seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    odd_seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    usage: Usage = field(default_factory=Usage)
    provenance: Provenance = field(default_factory=Provenance)
    artifacts: list[ArtifactRef] = field(default_factory=list)

    @property
    def key(self) -> AttemptKey:
        """Which attempt of which run it is."""
        return AttemptKey(self.assignment.run_id, self.assignment.epoch)

    @contextmanager
    def step(self, step: PlatformStep) -> Iterator[None]:
        """Time what the platform does beside the participant's code, and stop before it where asked to."""
        self.check()
        began = time.monotonic()
        try:
            yield
        finally:
            self.platform_seconds[step.value] += time.monotonic() - began

    def note_odd(self, time: TimeUse) -> None:
        """Count what took longer in a box than it may, and was charged to nobody."""
        for step, seconds in time.odd.items():
            self.odd_seconds[step] += seconds

    def check(self) -> None:
        """Raise `Stopped` when there is a reason to stop."""
        if self.lease.stop_reason is not None:
            raise Stopped

    def report_stage(self, stage: Stage, text: str) -> None:
        """A line of the platform in the run's log, and the stage in the next heartbeat."""
        self.lease.report(Progress(stage=stage, message=text))
        self.log.add(LogLine("platform", stage, text))

    def upload(self, name: str, path: Path) -> None:
        """Upload an artifact and remember it."""
        with self.step(PlatformStep.UPLOAD):
            reference = self.site.client.upload(self.assignment.run_id, self.assignment.epoch, name, path)
        self.artifacts.append(reference)

    def use(self) -> Usage:
        """The usage with the platform's own times."""
        ours = {"platform_seconds": dict(self.platform_seconds), "odd_seconds": dict(self.odd_seconds)}
        return self.usage.model_copy(update=ours)
