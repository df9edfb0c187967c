"""One attempt of one run: gather, evaluate in a sandbox, score, upload, and only then announce."""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from anyshot_starting_kit.taskserver.job import Failure, LogLine
from anyshot_starting_kit.wire.verdicts import Verdict
from anyshot_starting_kit.wire.worker_api import (
    ArtifactRef,
    Assignment,
    Complete,
    Fail,
    JobKind,
    Progress,
    Provenance,
    Stage,
    Usage,
)
from anyshot_worker.client import Refused, StaleEpoch, WorkerApiError, WorkerClient
from anyshot_worker.events import LogShipper
from anyshot_worker.lease import Lease, StopReason
from anyshot_worker.materials import BadAssignment
from anyshot_worker.sandbox import SandboxError, Sandboxes
from anyshot_worker.workspace import Workspace

log = logging.getLogger(__name__)


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
class Attempt:
    """State of one attempt while it lasts; its parts are filled in as they become known."""

    site: Site
    assignment: Assignment
    folder: Path
    lease: Lease
    log: LogShipper
    platform_seconds: dict[str, float] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    provenance: Provenance = field(default_factory=Provenance)
    artifacts: list[ArtifactRef] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time what the platform does beside the participant's code, and stop before it where asked to."""
        self.check()
        began = time.monotonic()
        try:
            yield
        finally:
            spent = time.monotonic() - began
            self.platform_seconds[name] = self.platform_seconds.get(name, 0.0) + spent

    def check(self) -> None:
        """Raise `Stopped` when there is a reason to stop."""
        if self.lease.stop_reason is not None:
            raise Stopped

    def say(self, stage: Stage, text: str) -> None:
        """A line of the platform in the run's log, and the stage in the next heartbeat."""
        self.lease.report(Progress(stage=stage, message=text, tasks_total=self.assignment.tasks))
        self.log.add(LogLine("platform", stage, text))

    def keep(self, name: str, path: Path) -> None:
        """Upload an artifact and remember it."""
        with self.step("upload"):
            reference = self.site.client.upload(self.assignment.run_id, self.assignment.epoch, name, path)
        self.artifacts.append(reference)

    def use(self) -> Usage:
        """The usage with the platform's own times."""
        return self.usage.model_copy(update={"platform_seconds": dict(self.platform_seconds)})


def carry_out(assignment: Assignment, site: Site) -> None:
    """Do what the assignment asks and report how it ended; returns whatever happens to the submission."""
    folder = Path(tempfile.mkdtemp(prefix="attempt-", dir=site.workspace.scratch))
    shipper = LogShipper(site.client, assignment, folder / "log.txt")
    try:
        with Lease(site.client, assignment, site.draining) as lease:
            attempt = Attempt(site, assignment, folder, lease, shipper)
            _announce(attempt, _outcome(attempt))
    except StaleEpoch as error:
        log.info("run %s went to another attempt: %s", assignment.run_id, error)
    except WorkerApiError as error:
        log.error("run %s: the platform did not take the result: %s", assignment.run_id, error)
    finally:
        shipper.close()
        shutil.rmtree(folder, ignore_errors=True)


def _outcome(attempt: Attempt) -> Complete | Failure | None:
    """What came of it; None means that it was stopped."""
    from anyshot_worker import analyse, evaluate, scoring

    kinds = {JobKind.ANALYSE: analyse.analyse, JobKind.SCORE: scoring.rescore}
    try:
        return kinds.get(attempt.assignment.kind, evaluate.evaluate)(attempt)
    except Stopped:
        return None
    except Failed as error:
        return error.failure
    except BadAssignment as error:
        return Failure(error.verdict, str(error))
    except SandboxError as error:
        return Failure(
            error.verdict, "The sandbox could not be used; this is not your fault.", private=str(error)
        )
    except Refused as error:
        return Failure(
            Verdict.TASK_SERVER_BUG, "The platform refused what this worker sent.", private=str(error)
        )
    except (StaleEpoch, WorkerApiError):
        raise
    except Exception:  # noqa: BLE001 - a bug of ours must end the run as ours, never leave it without an end
        return Failure(
            Verdict.TASK_SERVER_BUG,
            "The platform made an error; this is not your fault.",
            private=traceback.format_exc(),
        )


def _announce(attempt: Attempt, outcome: Complete | Failure | None) -> None:
    run, epoch, client = attempt.assignment.run_id, attempt.assignment.epoch, attempt.site.client
    if isinstance(outcome, Complete):
        client.complete(run, outcome)
    elif attempt.lease.stop_reason is StopReason.LOST:
        log.warning("run %s: the lease is lost, its attempt ends without a word", run)
    elif attempt.lease.stop_reason is StopReason.DRAINING:
        client.release(run, epoch)
    elif outcome is None or attempt.lease.stop_reason is StopReason.CANCELLED:
        client.fail(run, _failure(attempt, Failure(Verdict.CANCELLED, "The run was cancelled.")))
    else:
        client.fail(run, _failure(attempt, outcome))


def _failure(attempt: Attempt, failure: Failure) -> Fail:
    _keep_log(attempt)
    if failure.private:
        log.error("run %s: %s %s", attempt.assignment.run_id, failure.verdict, failure.private)
    return Fail(
        epoch=attempt.assignment.epoch,
        verdict=failure.verdict,
        message=failure.message,
        detail=failure.detail,
        private=failure.private,
        task_index=failure.task_index,
        ways=failure.ways,
        shots=failure.shots,
        artifacts=attempt.artifacts,
        usage=attempt.use(),
        provenance=attempt.provenance,
    )


def _keep_log(attempt: Attempt) -> None:
    """The log of a failed attempt is worth keeping, but not worth failing for."""
    path = attempt.log.close()
    client, assignment = attempt.site.client, attempt.assignment
    try:
        attempt.artifacts.append(client.upload(assignment.run_id, assignment.epoch, "log.txt", path))
    except StaleEpoch:
        raise
    except WorkerApiError as error:
        log.warning("log of run %s was not stored: %s", assignment.run_id, error)
