"""What the operations page shows: queues, workers, failures, storage."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.foundation.artifacts.models import Artifact, Blob
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.runs.models import Attempt, Run
from anyshot_platform.judging.runs.states import RUNNING, RunState
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.workers.images import count_workers
from anyshot_platform.judging.workers.models import Worker
from anyshot_platform.judging.workers.tokens import the_one

ALIVE = timedelta(minutes=1)


@dataclass(frozen=True)
class Queue:
    """The queue of a hardware class."""

    hardware_class: str
    queued: int
    running: int
    oldest: datetime | None
    workers: int


@dataclass(frozen=True)
class WorkerRow:
    """A worker and what it holds."""

    worker: Worker
    alive: bool
    holds: list[Run]


def read_queues(session: Session) -> list[Queue]:
    """Every hardware class with runs or workers."""
    queued = {
        name: (count, since)
        for name, count, since in session.execute(
            select(Run.hardware_class, func.count(Run.id), func.min(Run.queued_at))
            .where(Run.state == RunState.QUEUED)
            .group_by(Run.hardware_class)
        )
    }
    running = _counts(session, Run.state.in_(sorted(RUNNING)))
    alive = (Worker.last_seen_at > now() - ALIVE, Worker.stopped_at.is_(None))
    served = session.scalars(select(Worker.hardware_class).where(*alive).distinct())
    return [
        Queue(
            name,
            queued.get(name, (0, None))[0],
            running.get(name, 0),
            queued.get(name, (0, None))[1],
            count_workers(session, name),  # that take work: none of those that are paused
        )
        for name in sorted({*queued, *running, *served})
    ]


def _counts(session: Session, where: object) -> dict[str, int]:
    query = select(Run.hardware_class, func.count(Run.id)).where(where).group_by(Run.hardware_class)  # pyright: ignore[reportArgumentType]
    return dict(session.execute(query).all())


def read_workers(session: Session) -> list[WorkerRow]:
    """Workers seen in the last week, those alive first."""
    moment = now()
    query = select(Worker).where(Worker.last_seen_at > moment - timedelta(days=7)).order_by(Worker.name)
    workers = list(session.scalars(query))
    held: dict[str, list[Run]] = {}
    for run in session.scalars(select(Run).where(Run.state.in_(sorted(RUNNING)))):
        held.setdefault(run.worker_id or "", []).append(run)
    rows = [
        WorkerRow(w, w.stopped_at is None and w.last_seen_at > moment - ALIVE, held.get(w.id, []))
        for w in workers
    ]
    return sorted(rows, key=lambda row: not row.alive)


def find_worker(session: Session, word: str) -> Worker:
    """A worker by its id, or by its name: the one alive, else one of the last week.

    Raises `NotFound`, and `Conflict` where several have the name.
    """
    named = [row for row in read_workers(session) if row.worker.name == word]
    alive = [row for row in named if row.alive] or named
    found = [row.worker for row in alive]
    return the_one(session.get(Worker, word), found, "There is no such worker.")


def count_failures(session: Session, *, hours: float = 24.0) -> list[tuple[str, str, int]]:
    """Failures of the last hours by cause and verdict, most first."""
    query = (
        select(Run.cause, Run.verdict, func.count(Run.id))
        .where(Run.finished_at > now() - timedelta(hours=hours), Run.cause.is_not(None))
        .group_by(Run.cause, Run.verdict)
        .order_by(func.count(Run.id).desc())
    )
    return [(str(cause), str(verdict), number) for cause, verdict, number in session.execute(query)]


def lost_attempts(session: Session, *, limit: int = 20) -> list[Attempt]:
    """The newest attempts that did not end well, with what operators should know."""
    query = select(Attempt).where(Attempt.ended_at.is_not(None), Attempt.outcome.not_in(["OK", "released"]))
    return list(session.scalars(query.order_by(Attempt.ended_at.desc()).limit(limit)))


def submissions_of(session: Session, attempts: Sequence[Attempt]) -> dict[str, Submission]:
    """The submission that each attempt was about, with its team and competition, by the attempt's id."""
    query = (
        select(Attempt.id, Submission)
        .join(Run, Run.id == Attempt.run_id)
        .join(Submission, Submission.id == Run.submission_id)
        .where(Attempt.id.in_([attempt.id for attempt in attempts]))
        .options(joinedload(Submission.team), joinedload(Submission.competition))
    )
    return dict(session.execute(query).all())


def read_storage(session: Session) -> list[tuple[str, int, int]]:
    """What lies in the storage: (what, files, bytes)."""
    total = session.execute(select(func.count(Blob.digest), func.coalesce(func.sum(Blob.size), 0))).one()
    packs = session.execute(select(func.count(Pack.id), func.coalesce(func.sum(Pack.size), 0))).one()
    zips = session.execute(
        select(func.count(Submission.id), func.coalesce(func.sum(Submission.size), 0))
    ).one()
    rows = [
        ("everything", *total),
        ("dataset packs", *packs),
        ("submissions", *zips),
    ]
    kinds = (
        select(Artifact.name, func.count(Artifact.id), func.coalesce(func.sum(Artifact.size), 0))
        .where(Artifact.expired_at.is_(None))
        .group_by(Artifact.name)
        .order_by(func.sum(Artifact.size).desc())
    )
    rows += [(name, files, size) for name, files, size in session.execute(kinds)]
    return [(name, int(files), int(size)) for name, files, size in rows]
