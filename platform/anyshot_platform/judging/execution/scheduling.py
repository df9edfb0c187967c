"""Which run a worker gets: by the competition whose turn it is, then by priority, fair share, age.

Turns: of the competitions that wait for a class of machines, the one with the fewest running evaluations on it; of
several, the one that was served longest ago. A smoke test goes first, out of turn, unless its competition's last run
was one too. Fair share: a team without a running evaluation goes before one that has some. Bulk work leaves one worker
of its class free. A run that failed through no fault of its code goes to another worker, where one takes work on which
it did not. All of this reads indexes from their top: a queue of ten thousand costs what an empty one does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_core.wire.worker_api import Waiting, WorkerInfo
from anyshot_platform.contest.phases import priorities
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.execution.kinds import fitting_runs
from anyshot_platform.judging.runs.models import QUEUE_ORDER, Attempt, Run
from anyshot_platform.judging.runs.states import RUNNING, RunState
from anyshot_platform.judging.workers.images import carried_by, count_workers, takes_work
from anyshot_platform.judging.workers.models import Worker
from anyshot_platform.judging.workers.tokens import reach_of

UNREADABLE = "unreadable"  # outcome of an attempt whose worker could not read the job
ELSEWHERE = timedelta(minutes=10)  # before a worker that it went wrong with is given the run again
# Outcomes that may be the machine's doing: one that breaks all runs is always free, and would break each for good.
_BY_MACHINE = [verdict.value for verdict in Verdict if verdict.cause in (Cause.INFRASTRUCTURE, Cause.UNCLEAR)]
TOO_OLD = "worker_too_old"
_RUNNING = sorted(RUNNING)


def choose_run(
    session: Session,
    info: WorkerInfo,
    *,
    worker_id: str = "",
    competition_id: str | None = None,
    keep_slot_from_bulk: bool = True,
    skip: Sequence[str] = (),
) -> Run | None:
    """The run that this worker should claim now; None if there is nothing that fits it.

    `competition_id` is the one competition that the worker's token is for, if it is for one. `skip` are runs that
    another worker was quicker to claim.
    """
    moment = now()
    if competition_id is None:
        orders = _orders(session, info.hardware_class, moment)
    else:
        orders = [Run.competition_id == competition_id]
    if not orders:
        return None
    fits = and_(
        _is_queued(info.hardware_class, moment), carried_by(info), fitting_runs(info), Run.id.not_in(skip)
    )
    fits = and_(fits, ~_went_wrong_here(worker_id, takes_work(session, info.hardware_class), moment))
    for those in orders:
        found = _pick(session, and_(fits, those))
        if found is not None and found.bulk and keep_slot_from_bulk and not _bulk_may_start(session, info):
            found = _pick(session, and_(fits, those, ~Run.bulk))
        if found is not None:
            return found
    return None


def count_waiting(session: Session, token_id: str, hardware_class: str) -> Waiting:
    """The runs that wait for a class of machines and that a worker's token may have, and those that its workers are at.

    Raises:
        Forbidden: the token is for another hardware class.
    """
    competition_id = reach_of(session, token_id, hardware_class)
    reach = () if competition_id is None else (Run.competition_id == competition_id,)
    waiting = select(func.count(Run.id)).where(_is_queued(hardware_class, now()), *reach)
    mine = select(Worker.id).where(Worker.token_id == token_id)
    here = (Run.hardware_class == hardware_class, Run.state.in_(_RUNNING), Run.worker_id.in_(mine))
    running = select(func.count(Run.id)).where(*here)
    return Waiting(waiting=session.scalar(waiting) or 0, running=session.scalar(running) or 0)


def _pick(session: Session, fits: ColumnElement[bool]) -> Run | None:
    """Of the runs that fit: the highest priority, then teams that have none running, then the oldest."""
    top = session.scalar(select(Run.priority).where(fits).order_by(Run.priority.desc()).limit(1))
    if top is None:
        return None
    here = and_(fits, Run.priority == top)
    busy = select(Run.team_id).where(Run.state.in_(_RUNNING), Run.team_id.is_not(None))
    fair = select(Run).where(here, or_(Run.team_id.is_(None), Run.team_id.not_in(busy)))
    for query in (fair, select(Run).where(here)):
        # PostgreSQL: workers that ask at the same moment look past what another one is just taking.
        found = session.scalars(
            query.order_by(*QUEUE_ORDER).limit(1).with_for_update(skip_locked=True)
        ).first()
        if found is not None:
            return found
    return None


def _orders(session: Session, hardware_class: str, moment: datetime) -> list[ColumnElement[bool]]:
    """Which runs to look among, one after the other: smoke tests that go first, then each competition at its turn."""
    waiting = _waiting(session, hardware_class, moment)
    if len(waiting) < 2:
        return [Run.competition_id == one for one in waiting]
    turns = _turns(session, hardware_class, waiting, moment)
    smoke = [and_(turn.its_runs, Run.priority >= priorities.SMOKE) for turn in turns if turn.smoke_goes_first]
    return [*smoke, *(turn.its_runs for turn in turns)]


@dataclass(frozen=True)
class _Turn:
    """A competition that waits for a class of machines."""

    competition_id: str
    running: int
    served_at: datetime
    smoke_goes_first: bool  # unless its last run was one: else a flood of them would take every turn

    @property
    def its_runs(self) -> ColumnElement[bool]:
        return Run.competition_id == self.competition_id


def _turns(session: Session, hardware_class: str, waiting: Sequence[str], moment: datetime) -> list[_Turn]:
    """Who waits for machines of a class, in the order of their turns."""
    here = (Run.hardware_class == hardware_class, Run.competition_id.in_(waiting), Run.state.in_(_RUNNING))
    counts = select(Run.competition_id, func.count(Run.id)).where(*here).group_by(Run.competition_id)
    running = dict(session.execute(counts).all())
    never, turns = datetime.min.replace(tzinfo=moment.tzinfo), []
    for one in waiting:
        claims = select(Run.claimed_at, Run.priority).where(
            Run.competition_id == one, Run.claimed_at.is_not(None)
        )
        last = session.execute(claims.order_by(Run.claimed_at.desc()).limit(1)).first()
        served, priority = (last[0] or never, last[1]) if last else (never, 0)
        turns.append(_Turn(one, running.get(one, 0), served, priority < priorities.SMOKE))
    return sorted(turns, key=lambda turn: (turn.running, turn.served_at, turn.competition_id))


def _waiting(session: Session, hardware_class: str, moment: datetime) -> list[str]:
    """The competitions with queued runs for a class: one look into the index for each, however many runs they have."""
    queued = _is_queued(hardware_class, moment)
    found = select(func.min(Run.competition_id).label("id")).where(queued).cte("waiting", recursive=True)
    following = select(func.min(Run.competition_id)).where(queued, Run.competition_id > found.c.id)
    found = found.union_all(select(following.scalar_subquery()).where(found.c.id.is_not(None)))
    return [one for one in session.scalars(select(found.c.id)) if one is not None]


def _is_queued(hardware_class: str, moment: datetime) -> ColumnElement[bool]:
    return and_(
        Run.hardware_class == hardware_class,
        Run.state == RunState.QUEUED,
        Run.available_at <= moment,
    )


def _went_wrong_here(worker_id: str, works: ColumnElement[bool], moment: datetime) -> ColumnElement[bool]:
    """A short while ago this worker could not read the run, or it failed here, and not yet on each that `works`."""
    elsewhere = aliased(Attempt)
    failed_there = exists().where(
        elsewhere.run_id == Run.id,
        elsewhere.worker_id == Worker.id,
        elsewhere.outcome.in_(_BY_MACHINE),
        elsewhere.ended_at > moment - ELSEWHERE,
    )
    untried = and_(works, Worker.id != worker_id, ~failed_there.correlate(Run, Worker))
    others = exists().where(untried).correlate(Run)
    return exists().where(
        Attempt.run_id == Run.id,
        Attempt.worker_id == worker_id,
        or_(Attempt.outcome == UNREADABLE, and_(Attempt.outcome.in_(_BY_MACHINE), others)),
        Attempt.ended_at > moment - ELSEWHERE,
    )


def _bulk_may_start(session: Session, info: WorkerInfo) -> bool:
    alive = count_workers(session, info.hardware_class)
    running = session.scalar(
        select(func.count(Run.id)).where(
            Run.hardware_class == info.hardware_class, Run.bulk, Run.state.in_(_RUNNING)
        )
    )
    return (running or 0) < max((alive or 1) - 1, 1)
