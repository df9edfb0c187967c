"""Leases: claim, extend, lose, give back. The database is the queue."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_core.wire.worker_api import HeartbeatReply, Progress, WorkerInfo
from anyshot_platform.foundation.artifacts.models import Artifact
from anyshot_platform.foundation.background.outbox import put_ring
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.execution.kinds import kind_of
from anyshot_platform.judging.execution.parts import lock_run
from anyshot_platform.judging.execution.scheduling import TOO_OLD, UNREADABLE, choose_run
from anyshot_platform.judging.execution.settlement import settle
from anyshot_platform.judging.runs.checkpoints import count_answered, has_gone_on, words_on_next_attempt
from anyshot_platform.judging.runs.models import Attempt, Run
from anyshot_platform.judging.runs.records import HeldRun, StageTimes
from anyshot_platform.judging.runs.states import RUNNING, STAGES, RunState, check_transition, state_of_stage
from anyshot_platform.judging.runs.transitions import StaleEpoch, write_state
from anyshot_platform.judging.workers.models import Worker
from anyshot_platform.judging.workers.tokens import reach_of
from anyshot_platform.people.alerts.service import close_alert, open_alert

_BEATS_A_SECOND = 20  # for a web process; as many parts of logs come beside them
_RELEASED = "released"
_LOSSES = 10  # times as many workers may be lost by attempts that went on as by others
_RACES = 10  # times that another worker may be quicker before we answer "nothing"


@dataclass(frozen=True)
class Claim:
    """A run and the worker that has it now."""

    run: Run
    worker: Worker


def register_worker(session: Session, token_id: str, info: WorkerInfo) -> Worker:
    """Note what a worker says of itself."""
    worker = session.scalars(
        select(Worker).where(Worker.token_id == token_id, Worker.name == info.name)
    ).one_or_none()
    if worker is None:
        worker = Worker(token_id=token_id, name=info.name)
        session.add(worker)
    elif worker.info is not None and worker.info.release != info.release:
        for kind in (TOO_OLD, UNREADABLE):
            close_alert(session, kind, worker.id)
    worker.hardware_class = info.hardware_class
    worker.info = info
    worker.last_seen_at = now()
    worker.stopped_at = None
    worker.draining = False
    session.flush()
    return worker


def claim(session: Session, settings: PlatformSettings, token_id: str, info: WorkerInfo) -> Claim | None:
    """Give a worker the run that fits it best, with a lease and a new epoch; None if there is none."""
    competition_id = reach_of(session, token_id, info.hardware_class)
    worker = register_worker(session, token_id, info)
    if worker.paused_at is not None:
        return None
    beaten: list[str] = []
    while len(beaten) < _RACES:
        run = choose_run(
            session,
            info,
            worker_id=worker.id,
            competition_id=competition_id,
            keep_slot_from_bulk=settings.keep_slot_from_bulk,
            skip=beaten,
        )
        if run is None:
            return None
        try:
            _take(session, settings, run, worker)
        except StaleEpoch:
            beaten.append(run.id)
            session.expire(run)
            continue
        return Claim(run, worker)
    return None


def _take(session: Session, settings: PlatformSettings, run: Run, worker: Worker) -> None:
    moment = now()
    write_state(
        session,
        run,
        RunState.CLAIMED,
        epoch=run.epoch + 1,
        attempt=run.attempt + 1,
        worker_id=worker.id,
        lease_expires_at=moment + timedelta(seconds=settings.lease_seconds),
        claimed_at=moment,
        tasks_done=count_answered(session, run.id),
        seconds_used=0.0,
        progress_message="",
        stage_times=StageTimes(claimed=moment),
        finished_at=None,
        expected_start=None,
    )
    session.add(
        Attempt(
            run_id=run.id,
            epoch=run.epoch,
            number=run.attempt,
            worker_id=worker.id,
            worker_name=worker.name,
            claimed_at=moment,
        )
    )
    session.flush()
    settle(session, run)


def find_held(session: Session, token_id: str, run_id: str, epoch: int) -> Run:
    """The run, locked, if this worker's attempt still has it; raises `StaleEpoch` or `NotFound`.

    A lease that ran out counts until somebody else was given the run or the sweeper took it back: the attempt
    is alive after all, and nobody is harmed.
    """
    run = lock_run(session, run_id)
    look_held(session, token_id, run_id, epoch)
    assert run is not None  # it was found
    return run


def look_held(session: Session, token_id: str, run_id: str, epoch: int, *, lock: bool = False) -> HeldRun:
    """What heartbeats and logs need of the run that `find_held` loads whole; raises what that raises.

    `lock` holds the run alone: no submission may be waited for then.
    """
    facts = (Run.id, Run.epoch, Run.kind, Run.state, Run.worker_id, Run.cancel_requested_at)
    holder = select(Worker.token_id).where(Worker.id == Run.worker_id).scalar_subquery()
    query = select(*facts, holder).where(Run.id == run_id)
    found = session.execute(query.with_for_update() if lock else query).one_or_none()
    if found is None:
        raise NotFound("There is no such run.")
    held, holder = HeldRun(*found[:-1]), found[-1]
    if held.epoch != epoch or held.state not in RUNNING or holder != token_id:
        raise StaleEpoch
    return held


def extend(
    session: Session, settings: PlatformSettings, token_id: str, held: HeldRun, progress: Progress
) -> HeartbeatReply:
    """A heartbeat: a new lease, the progress kept, and whether to cancel. Raises `StaleEpoch`."""
    moment = now()
    stage = state_of_stage(progress.stage)
    if _is_ahead(held.state, stage):
        run = find_held(session, token_id, held.id, held.epoch)
        if _is_ahead(run.state, stage):
            check_transition(run.state, stage)
            write_state(session, run, stage, stage_times=run.times.at(stage, moment))
            settle(session, run)
    told = (
        {"tasks_total": progress.tasks_total} if kind_of(held).counts_steps and progress.tasks_total else {}
    )
    extended = session.execute(
        update(Run)
        .where(Run.id == held.id, Run.epoch == held.epoch, Run.state.in_(sorted(RUNNING)))
        .values(
            lease_expires_at=moment + timedelta(seconds=settings.lease_seconds),
            tasks_done=progress.tasks_done,
            seconds_used=progress.seconds_used,
            progress_message=progress.message[:500],
            **told,
        )
        .execution_options(synchronize_session=False)
    )
    if extended.rowcount != 1:  # pyright: ignore[reportAttributeAccessIssue] - an UPDATE gives a CursorResult
        raise StaleEpoch
    _note_seen(session, held, moment)
    return HeartbeatReply(
        cancel=held.cancel_requested_at is not None,
        lease_seconds=settings.lease_seconds,
        pace_seconds=pace(settings, _count_running(session)),
    )


def pace(settings: PlatformSettings, many: int) -> float:
    """Seconds between two heartbeats, or two claims of an idle worker, for so many of them: three within a lease."""
    return min(many / (_BEATS_A_SECOND * settings.web_processes), settings.lease_seconds / 3)


def _count_running(session: Session) -> int:
    return session.scalar(select(func.count(Run.id)).where(Run.state.in_(sorted(RUNNING)))) or 0


def _is_ahead(state: RunState, stage: RunState) -> bool:
    # Heartbeats may overtake one another; a late one never takes a run back.
    order = (RunState.CLAIMED, *STAGES)
    return order.index(stage) > order.index(state)


def _note_seen(session: Session, run: HeldRun, moment: datetime) -> None:
    session.execute(
        update(Worker)
        .where(Worker.id == run.worker_id, Worker.last_seen_at < moment - timedelta(seconds=5))
        .values(last_seen_at=moment)
        .execution_options(synchronize_session=False)
    )


def requeue(
    session: Session,
    settings: PlatformSettings,
    run: Run,
    *,
    outcome: str,
    message: str = "",
    back_off: float = 0.0,
) -> None:
    """Put a running run back into the queue; it is rung when its back-off is over."""
    moment = now()
    due = moment + timedelta(seconds=back_off)
    end_attempt(session, run, outcome=outcome, message=message)
    write_state(
        session,
        run,
        RunState.QUEUED,
        epoch=run.epoch + 1,  # what the old attempt still sends is refused from now on
        worker_id=None,
        lease_expires_at=None,
        available_at=due,
        tasks_done=count_answered(session, run.id),
        seconds_used=0.0,
        progress_message=message,
    )
    put_ring(session, run.id, run.hardware_class, due_at=due)
    settle(session, run)


def release(session: Session, settings: PlatformSettings, run: Run) -> None:
    """A worker that stops gives its lease back: queued at once, at its old place, and counted as nobody's failure."""
    worker = session.get(Worker, run.worker_id) if run.worker_id else None
    if worker is not None:
        worker.draining, worker.last_seen_at = True, now()
    if run.cancel_requested_at is not None:
        end_cancelled(session, run, "Cancelled while its worker stopped.")
        return
    words = f"The worker was stopped; another one takes over.{words_on_next_attempt(session, run)}"
    requeue(session, settings, run, outcome=_RELEASED, message=words)


def end_cancelled(session: Session, run: Run, message: str) -> None:
    """End a running run that somebody asked to cancel."""
    end_attempt(session, run, outcome=Verdict.CANCELLED.value, message=message)
    write_state(
        session,
        run,
        RunState.CANCELLED,
        verdict=Verdict.CANCELLED,
        cause=Cause.USER,
        message=message,
        finished_at=now(),
        lease_expires_at=None,
    )
    settle(session, run)


def lose(session: Session, settings: PlatformSettings, run: Run) -> None:
    """The lease ran out: its worker is dead or cut off. Back to the queue, or failed after too many losses.

    An attempt from which the next one goes on is no failure, up to a limit. A run that is given up and took two workers
    down with it is quarantined: it may be what kills them.
    """
    if run.cancel_requested_at is not None:
        end_cancelled(session, run, "Cancelled; its worker had stopped answering.")
        return
    if _was_never_told(session, settings, run):
        words = "The worker did not learn that it had this run; it is queued again."
        requeue(session, settings, run, outcome=_RELEASED, message=words)
        return
    session.execute(
        update(Run)
        .where(Run.id == run.id)
        .values(
            workers_lost=Run.workers_lost + 1,
            infrastructure_failures=Run.infrastructure_failures + int(not has_gone_on(session, run)),
        )
        .execution_options(synchronize_session=False)
    )
    session.refresh(run)
    words = "The worker that had this run stopped answering."
    attempts = settings.infrastructure_attempts
    if run.infrastructure_failures < attempts and run.workers_lost < _LOSSES * attempts:
        requeue(
            session,
            settings,
            run,
            outcome=Verdict.WORKER_LOST.value,
            message=f"{words} Another one takes over.{words_on_next_attempt(session, run)}",
        )
        return
    lost = f"Run {run.id} was given up: it lost {run.workers_lost} workers."
    open_alert(session, "run_lost", run.id, lost)
    fail_run(session, run, Verdict.WORKER_LOST, words, quarantined=run.workers_lost >= 2)


def _was_never_told(session: Session, settings: PlatformSettings, run: Run) -> bool:
    """Whether the answer to the claim was lost: no heartbeat came, and the worker has gone on without the run.

    Believed once in a run: one that takes its worker down before the first heartbeat would go round for ever.
    """
    if run.state != RunState.CLAIMED or run.claimed_at is None or run.worker_id is None:
        return False
    lately = now() - timedelta(seconds=settings.lease_seconds / 2)
    if session.get_one(Worker, run.worker_id).last_seen_at <= max(run.claimed_at, lately):
        return False
    before = select(Attempt.id).where(Attempt.run_id == run.id, Attempt.outcome == _RELEASED).limit(1)
    return session.scalar(before) is None


def back_off_seconds(settings: PlatformSettings, failures: int) -> float:
    """How long a run waits after its n-th infrastructure failure: doubling from `retry_seconds`."""
    return settings.retry_seconds * 2 ** max(failures - 1, 0)


def fail_run(
    session: Session,
    run: Run,
    verdict: Verdict,
    message: str,
    *,
    detail: str = "",
    private: str = "",
    quarantined: bool = False,
    **values: object,
) -> None:
    """End a run as failed (or timed out, for the time limit)."""
    end_attempt(session, run, outcome=verdict.value, message=message, private=private)
    state = RunState.TIMED_OUT if verdict == Verdict.TIME_LIMIT else RunState.FAILED
    write_state(
        session,
        run,
        state,
        verdict=verdict,
        cause=verdict.cause,
        message=message,
        detail=detail,
        private=private,
        quarantined=quarantined,
        finished_at=now(),
        lease_expires_at=None,
        **values,
    )
    settle(session, run)


def end_attempt(session: Session, run: Run, *, outcome: str, message: str = "", private: str = "") -> None:
    """Close the record of a run's present attempt; files that an attempt before it left count no longer."""
    session.execute(
        update(Attempt)
        .where(Attempt.run_id == run.id, Attempt.epoch == run.epoch, Attempt.ended_at.is_(None))
        .values(ended_at=now(), outcome=outcome, message=message, private=private)
        .execution_options(synchronize_session=False)
    )
    session.execute(
        update(Artifact).where(Artifact.run_id == run.id, Artifact.epoch != run.epoch).values(final=False)
    )


def has_ended_by(session: Session, token_id: str, run_id: str, epoch: int) -> bool:
    """Whether this very attempt ended the run before: its final word came twice."""
    attempt = session.execute(
        select(Attempt.outcome, Worker.token_id)
        .join(Worker, Worker.id == Attempt.worker_id)
        .where(Attempt.run_id == run_id, Attempt.epoch == epoch, Attempt.ended_at.is_not(None))
    ).first()
    if attempt is None or attempt.token_id != token_id:
        return False
    return attempt.outcome not in (_RELEASED, UNREADABLE, Verdict.WORKER_LOST.value)
