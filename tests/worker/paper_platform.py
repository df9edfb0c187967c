"""A platform on paper: what a worker's client sees of one, kept in memory, so that an attempt can be watched.

Its jobs and answers are those that the real platform was recorded giving, with other data.
"""

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from anyshot_core.data.digests import digest_file
from anyshot_core.wire.jobs import Job, JobKind, read_assignment
from anyshot_core.wire.worker_api import (
    ArtifactRef,
    BlobRef,
    Complete,
    Event,
    Fail,
    HeartbeatReply,
    Measure,
    Progress,
    WorkerInfo,
)
from anyshot_scoring.summary import RunSummary
from anyshot_worker.client import StaleEpoch
from tests.contract.recording import play, recorded


@dataclass
class PaperPlatform:
    """Records what a worker says; `cancel`, `stale` and `queue` are what it answers."""

    blobs: dict[str, Path] = field(default_factory=dict)
    queue: list[Job] = field(default_factory=list)
    claims: list[WorkerInfo] = field(default_factory=list)
    cancel: bool = False
    stale: bool = False
    pace_seconds: float = 0.0
    progress: list[Progress] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    artifacts: dict[str, bytes] = field(default_factory=dict)
    completed: list[Complete] = field(default_factory=list)
    failed: list[Fail] = field(default_factory=list)
    released: list[str] = field(default_factory=list)

    def keep(self, path: Path) -> BlobRef:
        """Make a file available to the worker."""
        digest = digest_file(path)
        self.blobs[digest] = path
        return BlobRef(digest=digest, size=path.stat().st_size, url=f"/blobs/{digest}")

    def job(self, kind: JobKind, **changes: Any) -> Any:
        """A job as the real platform was recorded handing it out, of run `run`; `changes` are its data."""
        known = {
            "run_id": "run",
            "epoch": 1,
            "attempt": 1,
            "submission_id": "s",
            "train_seed": 93,
            "test_seed": 93,
            "shard": None,
            "dataset": None,
            "keep_learner": False,
        }
        known = {name: value for name, value in known.items() if name in recorded(f"job-{kind}")}
        plain = to_jsonable_python(known | changes)
        return read_assignment(json.dumps(play(f"job-{kind}", **plain)).encode())

    def claim(self, worker: WorkerInfo) -> Job | None:
        self.claims.append(worker)
        return self.queue.pop(0) if self.queue else None

    def fetch(self, blob: BlobRef, target: Path) -> None:
        shutil.copyfile(self.blobs[blob.digest], target)

    def heartbeat(
        self, run_id: str, epoch: int, progress: Progress, measures: Sequence[Measure] = ()
    ) -> HeartbeatReply:
        self._fence(run_id, epoch)
        self.progress.append(progress)
        self.measures += measures
        return HeartbeatReply.model_validate(play("reply", cancel=self.cancel))

    def send_events(self, run_id: str, epoch: int, events: list[Event]) -> None:
        self._fence(run_id, epoch)
        self.events += events

    def upload(self, run_id: str, epoch: int, name: str, path: Path) -> ArtifactRef:
        self._fence(run_id, epoch)
        content = path.read_bytes()
        self.artifacts[name] = content
        return ArtifactRef(name=name, digest=hashlib.sha256(content).hexdigest(), size=len(content))

    @property
    def scored(self) -> list[RunSummary]:
        """The summaries of the completed runs that have tasks."""
        return [one.summary for one in self.completed if isinstance(one.summary, RunSummary)]

    def complete(self, run_id: str, result: Complete) -> None:
        self._fence(run_id, result.epoch)
        self.completed.append(result)

    def fail(self, run_id: str, failure: Fail) -> None:
        self._fence(run_id, failure.epoch)
        self.failed.append(failure)

    def release(self, run_id: str, epoch: int) -> None:
        self._fence(run_id, epoch)
        self.released.append(run_id)

    def _fence(self, run_id: str, epoch: int) -> None:
        assert (run_id, epoch) == ("run", 1)
        if self.stale:
            raise StaleEpoch("taken over")
