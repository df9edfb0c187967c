"""Where a run stands in the queue, and when it may be expected to start."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session

from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.queue import priorities
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RUNNING, RunState
from anyshot_platform.judging.workers.images import Needs, can_carry, taking_work


@dataclass(frozen=True)
class QueuePlace:
    """How many runs go before, how many workers serve the class, and a rough start (None: cannot be told)."""

    ahead: int
    workers: int
    expected_start: datetime | None


def find_place(session: Session, run: Run) -> QueuePlace | None:
    """The place of a queued run; None if it is not queued. Fair share between teams may bring it forward."""
    if run.state != RunState.QUEUED:
        return None
    moment, ahead = now(), _count_ahead(session, run)
    able = taking_work(session, run.hardware_class, competition_id=run.competition_id)
    needs = Needs(run.image, run.image_digest, run.gpus, run.memory_bytes)
    workers = sum(can_carry(worker, needs) for worker in able)
    return QueuePlace(ahead, workers, _expect(session, run, ahead, workers, moment))


def _count_ahead(session: Session, run: Run) -> int:
    """The runs before it in its competition; of each other one, which takes turns with it, as many and one more."""
    queued = (Run.hardware_class == run.hardware_class, Run.state == RunState.QUEUED)
    older = and_(Run.priority == run.priority, Run.queued_at < run.queued_at)
    goes_before, own = or_(Run.priority > run.priority, older), Run.competition_id == run.competition_id
    ahead = session.scalar(select(func.count(Run.id)).where(*queued, own, goes_before)) or 0
    if run.priority >= priorities.SMOKE:
        return ahead
    others = select(func.count(Run.id)).where(*queued, ~own).group_by(Run.competition_id)
    return ahead + sum(min(count, ahead + 1) for count in session.scalars(others))


def _expect(session: Session, run: Run, ahead: int, workers: int, moment: datetime) -> datetime | None:
    """Assume that each run ahead takes what the last ones of this phase took, spread over the workers."""
    if workers == 0:
        return None
    recent = session.execute(
        select(Run.claimed_at, Run.finished_at)
        .where(
            Run.phase_id == run.phase_id,
            Run.state == RunState.FINISHED,
            Run.submission_id.is_not(None),
        )
        .order_by(Run.finished_at.desc())
        .limit(20)
    ).all()
    seconds = [(end - start).total_seconds() for start, end in recent if start and end]
    if not seconds:
        return None
    running = session.scalar(
        select(func.count(Run.id)).where(
            Run.hardware_class == run.hardware_class, Run.state.in_(sorted(RUNNING))
        )
    )
    rounds = max(ahead + (running or 0) - workers + 1, 0) / workers
    return moment + timedelta(seconds=rounds * sum(seconds) / len(seconds))
