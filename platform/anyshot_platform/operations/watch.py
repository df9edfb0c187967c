"""Watches for what operators must know of: stalled queues, no workers, too many failures of ours."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.database import now
from anyshot_platform.operations.alerts import close_alert, open_alert
from anyshot_platform.operations.models import Alert
from anyshot_platform.queue.places import count_workers
from anyshot_platform.runs.models import Attempt, Run
from anyshot_platform.runs.states import RunState
from anyshot_platform.settings import PlatformSettings
from anyshot_starting_kit.wire.verdicts import Cause, Verdict

_FEWEST_FOR_A_RATE = 5


def watch_conditions(session: Session, settings: PlatformSettings) -> None:
    """Open the alerts whose condition holds, close the others."""
    holding = {
        **_find_stalled(session, settings),
        **_find_failing(session, settings),
    }
    open_now = session.execute(
        select(Alert.kind, Alert.subject).where(Alert.until.is_(None), Alert.kind != "run_lost")
    ).all()
    for kind, subject in open_now:
        if (kind, subject) not in holding:
            close_alert(session, kind, subject)
    for (kind, subject), message in holding.items():
        open_alert(session, kind, subject, message)


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
        workers = count_workers(session, name, moment - timedelta(seconds=settings.worker_gone_seconds))
        if workers == 0 and age > settings.worker_gone_seconds:
            found["no_workers", name] = f"{queued} runs wait for class “{name}”, and no worker serves it."
        elif age > settings.alert_queue_seconds:
            found["queue_stalled", name] = (
                f"The oldest of {queued} queued runs of “{name}” waits for {age:.0f} s."
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
