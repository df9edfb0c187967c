"""Watches for what operators must know of: stalled queues, no workers, too many failures of ours."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_platform.alerts.models import Alert
from anyshot_platform.alerts.service import close_alert, open_alert
from anyshot_platform.database import now
from anyshot_platform.kernel.filters import count
from anyshot_platform.operations.set_aside import count_set_aside
from anyshot_platform.queue.loops import LoopState, read_loops
from anyshot_platform.runs.models import Attempt, Run
from anyshot_platform.runs.states import RunState
from anyshot_platform.settings import PlatformSettings
from anyshot_platform.workers.images import count_workers

_FEWEST_FOR_A_RATE = 5
LOOP_LATE = "loop_late"


def watch_conditions(session: Session, settings: PlatformSettings) -> int:
    """Open the alerts whose condition holds, close the others; returns how many hold."""
    holding = {
        **_find_stalled(session, settings),
        **_find_failing(session, settings),
        **_find_set_aside(session),
    }
    _match_alerts(session, holding, Alert.kind.not_in(("run_lost", LOOP_LATE)))
    return len(holding)


def watch_loops(session: Session, settings: PlatformSettings) -> None:
    """Open an alert for each background thread that stands still, close the others: done by every web process."""
    late = {(LOOP_LATE, loop.name): _late_words(loop) for loop in late_loops(session, settings)}
    _match_alerts(session, late, Alert.kind == LOOP_LATE)


def late_loops(session: Session, settings: PlatformSettings, process: str | None = None) -> list[LoopState]:
    """The background threads, of the site or of one process, whose last round is too long ago."""
    return [loop for loop in read_loops(session, process) if loop.age > settings.alert_loop_seconds]


def _late_words(loop: LoopState) -> str:
    if loop.last_at is None:
        return f"No process runs the background thread “{loop.name}”: start `anyshot admin background`."
    return f"The background thread “{loop.name}” of {loop.process} began no round since {loop.last_at:%F %T} UTC."


def _match_alerts(
    session: Session, holding: dict[tuple[str, str], str], watched: ColumnElement[bool]
) -> None:
    open_now = session.execute(select(Alert.kind, Alert.subject).where(Alert.until.is_(None), watched)).all()
    for kind, subject in open_now:
        if (kind, subject) not in holding:
            close_alert(session, kind, subject)
    for (kind, subject), message in holding.items():
        open_alert(session, kind, subject, message)


def _find_set_aside(session: Session) -> dict[tuple[str, str], str]:
    number = count_set_aside(session)
    if number == 0:
        return {}
    return {
        (
            "set_aside",
            "",
        ): f"{number} e-mails, webhook messages or rows were tried too often and are set aside."
    }


def _find_stalled(session: Session, settings: PlatformSettings) -> dict[tuple[str, str], str]:
    moment = now()
    found: dict[tuple[str, str], str] = {}
    queues = session.execute(
        select(Run.hardware_class, func.count(Run.id), func.min(Run.queued_at))
        .where(Run.state == RunState.QUEUED)
        .group_by(Run.hardware_class)
    ).all()
    for name, queued, oldest in queues:
        age = (moment - _aware(oldest)).total_seconds()
        workers = count_workers(session, name)
        if workers == 0 and age > settings.worker_gone_seconds:
            found["no_workers", name] = (
                f"Class “{name}” has no worker, and {count(queued, 'run')} {'waits' if queued == 1 else 'wait'} for it."
            )
        elif age > settings.alert_queue_seconds:
            found["queue_stalled", name] = (
                f"The oldest run in the queue of “{name}” waits for {age:.0f} s; {queued} are in it."
            )
    return found


def _aware(moment: datetime) -> datetime:
    # MIN() of a column may lose the column's type in SQLite.
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=now().tzinfo)


def _find_failing(session: Session, settings: PlatformSettings) -> dict[tuple[str, str], str]:
    since = now() - timedelta(hours=1)
    outcomes = session.execute(
        select(Attempt.outcome, func.count(Attempt.id))
        .where(Attempt.ended_at > since)
        .group_by(Attempt.outcome)
    ).all()
    ours = {verdict.value for verdict in Verdict if verdict.cause == Cause.INFRASTRUCTURE}
    total = sum(number for outcome, number in outcomes if outcome != "released")
    failed = sum(number for outcome, number in outcomes if outcome in ours)
    if total < _FEWEST_FOR_A_RATE or failed / total < settings.alert_failure_rate:
        return {}
    return {("failure_rate", ""): f"{failed} of {total} attempts of the last hour failed through our fault."}
