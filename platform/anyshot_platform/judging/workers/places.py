"""Where a run stands in the queue, and when it may be expected to start and to end."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases import priorities
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.runs.models import Run, goes_before
from anyshot_platform.judging.runs.records import ExpectedStart
from anyshot_platform.judging.runs.states import RUNNING, RunState
from anyshot_platform.judging.workers.images import Needs, can_carry, taking_work


@dataclass(frozen=True)
class QueuePlace:
    """How many runs go before, how many workers serve the class, and the expected start (None: cannot be told yet)."""

    ahead: int
    workers: int
    expected: ExpectedStart | None


@dataclass(frozen=True)
class EndWindow:
    """Between which moments something should end, if it is as the last runs of its phase were."""

    earliest: datetime
    latest: datetime


def find_place(session: Session, run: Run) -> QueuePlace | None:
    """The place of a queued run; None if it is not queued. Fair share between teams may bring it forward."""
    if run.state != RunState.QUEUED:
        return None
    moment, ahead = now(), _count_ahead(session, run)
    able = taking_work(session, run.hardware_class, competition_id=run.competition_id)
    needs = Needs(run.image, run.image_digest, run.gpus, run.memory_bytes)
    workers = sum(can_carry(worker, needs) for worker in able)
    expected = run.expected_start if workers else None
    return QueuePlace(ahead, workers, expected if expected and expected.latest > moment else None)


def _count_ahead(session: Session, run: Run) -> int:
    """The runs before it in its competition; of each other one, which takes turns with it, as many and one more."""
    queued = (Run.hardware_class == run.hardware_class, Run.state == RunState.QUEUED)
    own = Run.competition_id == run.competition_id
    ahead = session.scalar(select(func.count(Run.id)).where(*queued, own, goes_before(run))) or 0
    if run.priority >= priorities.SMOKE:
        return ahead
    others = select(func.count(Run.id)).where(*queued, ~own).group_by(Run.competition_id)
    return ahead + sum(min(count, ahead + 1) for count in session.scalars(others))


def _guess(session: Session, run: Run) -> datetime | None:
    """Assume that each run ahead takes what the last ones of this phase took, spread over the workers."""
    place = find_place(session, run)
    if place is None or place.workers == 0:
        return None
    workers = place.workers
    seconds = recent_seconds(session, Run.phase_id == run.phase_id)
    if not seconds:
        return None
    running = session.scalar(
        select(func.count(Run.id)).where(
            Run.hardware_class == run.hardware_class, Run.state.in_(sorted(RUNNING))
        )
    )
    rounds = max(place.ahead + (running or 0) - workers + 1, 0) / workers
    return now() + timedelta(seconds=rounds * sum(seconds) / len(seconds))


def recent_seconds(session: Session, *conditions: ColumnElement[bool], limit: int = 20) -> list[float]:
    """What the last runs of submissions took, from claim to end."""
    recent = session.execute(
        select(Run.claimed_at, Run.finished_at)
        .where(Run.state == RunState.FINISHED, Run.submission_id.is_not(None), *conditions)
        .order_by(Run.finished_at.desc())
        .limit(limit)
    ).all()
    return [(end - start).total_seconds() for start, end in recent if start and end]


def expect_end(session: Session, runs: Sequence[Run]) -> EndWindow | None:
    """Between which moments the last of these runs of a phase should end; None where that cannot be told.

    Each takes what the quickest and what the slowest of the last runs of its kind took, after its expected start. What
    waits for the part that meta-trains begins when the others end.
    """
    windows = [_expect_end(session, run) for run in runs if run.state in (*RUNNING, RunState.QUEUED)]
    found = [window for window in windows if window is not None]
    if not found or len(found) < len(windows):
        return None
    earliest, latest = max(one.earliest for one in found), max(one.latest for one in found)
    waiting = next((run for run in runs if run.state == RunState.WAITING), None)
    if waiting is not None and (seconds := _seconds_like(session, waiting)):
        earliest, latest = (
            earliest + timedelta(seconds=min(seconds)),
            latest + timedelta(seconds=max(seconds)),
        )
    return EndWindow(earliest, latest)


def expect_start(session: Session, run: Run) -> datetime | None:
    """When a worker should take a run like this one, if it were queued now; None where that cannot be told."""
    names = (
        "kind",
        "competition_id",
        "phase_id",
        "hardware_class",
        "image",
        "image_digest",
        "gpus",
        "memory_bytes",
    )
    likewise = {name: getattr(run, name) for name in names}
    urgency = session.get_one(Phase, run.phase_id).priority
    return _guess(session, Run(**likewise, state=RunState.QUEUED, priority=urgency, queued_at=now()))


def _expect_end(session: Session, run: Run) -> EndWindow | None:
    place, seconds = find_place(session, run), _seconds_like(session, run)
    if place is not None and place.expected is not None:
        first, last = place.expected.earliest, place.expected.latest
    else:
        first = last = run.claimed_at if place is None else _guess(session, run)
    if first is None or last is None or not seconds:
        return None
    moment = now()
    earliest, latest = first + timedelta(seconds=min(seconds)), last + timedelta(seconds=max(seconds))
    return EndWindow(max(earliest, moment), latest) if latest > moment else None


def _seconds_like(session: Session, run: Run) -> list[float]:
    return recent_seconds(session, Run.phase_id == run.phase_id, Run.kind == run.kind)
