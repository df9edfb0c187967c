"""What is seen while everything dies in turn, and what is found when it is over."""

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import requests
from docker.errors import DockerException
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.runs.models import Attempt, Run
from anyshot_platform.judging.runs.states import RUNNING
from anyshot_platform.judging.scores.models import SubmissionScore
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionStatus
from anyshot_worker.sandbox.docker import DockerBackend
from anyshot_worker.sandbox.interface import SandboxError
from anyshot_worker.sandbox.settings import SandboxSettings
from anyshot_worker.sandbox.slots import living_boxes
from benchmarks.chaos import machines
from benchmarks.chaos.bundles import VARIANTS
from benchmarks.chaos.faults import FaultInjector
from benchmarks.figures import Figure, figure

LIMIT_SECONDS = 45.0  # without a lease, without an owner, from a dead worker to the next attempt
LOOK_AT_CONTAINERS = 2.0
OPEN = (SubmissionStatus.QUEUED, SubmissionStatus.RUNNING)


@dataclass
class Containers:
    """The containers of a site's workers: which of them nobody owns, and since when."""

    home: Path
    docker_host: str | None
    longest_orphaned: float = 0.0
    _since: dict[str, float] = field(default_factory=dict)
    _next: float = 0.0

    def look(self) -> None:
        """Note for how long each container has had no living worker; at most every two seconds."""
        moment = time.monotonic()
        if moment < self._next:
            return
        self._next = moment + LOOK_AT_CONTAINERS
        with contextlib.suppress(
            SandboxError, DockerException, requests.RequestException
        ):  # the daemon is being restarted
            orphans = self._list() - living_boxes(machines.state_folder(self.home) / "slots")
            self._since = {box: self._since.get(box, moment) for box in orphans}
            ages = [moment - since for since in self._since.values()]
            self.longest_orphaned = max([self.longest_orphaned, *ages])

    def count(self) -> int:
        """How many there are, owned or not."""
        return len(self._list())

    def _list(self) -> set[str]:
        settings = SandboxSettings(
            state_folder=machines.state_folder(self.home),
            owner=machines.owner(self.home),
            docker_host=self.docker_host,
        )
        backend = DockerBackend(settings)
        try:
            return set(backend.own_containers())
        finally:
            backend.close()


@dataclass
class Watch:
    """What was seen while it went on."""

    containers: Containers | None
    longest_unleased: float = 0.0

    def look(self, services: Services) -> int:
        """How many submissions have not ended; notes the longest that a running one was without a lease."""
        if self.containers is not None:
            self.containers.look()
        with services.database.reading() as session:
            oldest = session.scalar(
                select(func.min(Run.lease_expires_at)).where(Run.state.in_(sorted(RUNNING)))
            )
            if oldest is not None:
                self.longest_unleased = max(self.longest_unleased, (now() - oldest) / timedelta(seconds=1))
            return session.scalar(select(func.count(Submission.id)).where(Submission.status.in_(OPEN))) or 0


def judge(
    services: Services, faults: FaultInjector, watch: Watch, expected: dict[str, float], seconds: float
) -> list[Figure]:
    """Count what went wrong."""
    with services.database.reading() as session:
        rows = session.scalars(select(Submission).where(Submission.comment.in_(list(VARIANTS)))).all()
        attempts = session.scalars(select(Attempt).order_by(Attempt.run_id, Attempt.epoch)).all()
        scores: dict[str, list[float]] = {}
        for score in session.scalars(select(SubmissionScore)):
            scores.setdefault(score.submission_id, []).append(score.value)
        lost = _lost_attempts(session)
    finished = [row for row in rows if row.status == SubmissionStatus.FINISHED]
    wrong = [row for row in finished if scores.get(row.id, [None])[0] != expected[row.comment]]
    back, claimed = _recoveries(attempts, faults.kills)
    counts = {
        "not_ended": sum(row.status in OPEN for row in rows),
        "not_finished": len(rows) - len(finished),
        "not_exactly_one_score": sum(len(scores.get(row.id, [])) != 1 for row in rows),
        "wrong_scores": len(wrong),
        "containers_left": watch.containers.count() if watch.containers else 0,
    }
    orphaned = watch.containers.longest_orphaned if watch.containers else 0.0
    times = {
        "longest_run_without_lease": watch.longest_unleased,
        "longest_container_without_worker": orphaned,
        "slowest_dead_worker_to_queue": max(back, default=0.0),
    }
    return [
        figure("chaos.submissions", len(rows), "submissions"),
        figure("chaos.strikes", faults.strikes, "strikes"),
        figure("chaos.attempts", len(attempts), "attempts"),
        figure("chaos.attempts_lost", lost, "attempts"),
        figure("chaos.workers_killed_at_work", len(claimed), "kills"),
        figure("chaos.seconds", seconds, "s"),
        *(figure(f"chaos.{name}", count, "", "0", count == 0) for name, count in counts.items()),
        *(
            figure(f"chaos.{name}", value, "s", f"< {LIMIT_SECONDS:.0f}", value < LIMIT_SECONDS)
            for name, value in times.items()
        ),
        # Has to wait for a worker that is neither at work nor struck itself: benchmarks.workers holds it to 45 s.
        figure("chaos.slowest_dead_worker_to_restarted_run", max(claimed, default=0.0), "s"),
    ]


def _lost_attempts(session: Session) -> int:
    return session.scalar(select(func.count(Attempt.id)).where(Attempt.outcome != "OK")) or 0


def _recoveries(
    attempts: Sequence[Attempt], kills: list[tuple[str, datetime]]
) -> tuple[list[float], list[float]]:
    """Seconds from each `kill -9` of a worker at work until its run was queued, and until it was claimed again."""
    back, claimed = [], []
    for one, following in pairwise(attempts):
        if one.run_id != following.run_id or one.outcome != "WORKER_LOST" or one.ended_at is None:
            continue
        times = [at for name, at in kills if name == one.worker_name and one.claimed_at <= at <= one.ended_at]
        back += [(one.ended_at - at).total_seconds() for at in times]
        claimed += [(following.claimed_at - at).total_seconds() for at in times]
    return back, claimed


def tell_failures(services: Services) -> list[str]:
    """One line for each run that did not finish, and each attempt that was lost."""
    with services.database.reading() as session:
        runs = session.scalars(select(Run).where(Run.state != "finished")).all()
        lines = [f"run {run.id}: {run.state} {run.verdict} {run.message} {run.private[:500]}" for run in runs]
        ended = session.scalars(select(Attempt).where(Attempt.outcome != "OK").order_by(Attempt.claimed_at))
        for one in ended:
            lines.append(
                f"run {one.run_id} attempt {one.number} {one.worker_name}: {one.outcome} {one.message}"
            )
    return lines
