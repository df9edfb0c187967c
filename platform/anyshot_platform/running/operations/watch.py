"""Watches for what operators must know of: stalled queues, no workers, too many failures of ours."""

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.orm import Session

from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_core.words import moment_words
from anyshot_platform.foundation.background.loops import LoopState, read_loops
from anyshot_platform.foundation.background.models import LoopRound
from anyshot_platform.foundation.database import insert_into, now
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.runs.models import Attempt, Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.workers.images import count_workers
from anyshot_platform.people.alerts.models import Alert
from anyshot_platform.people.alerts.service import close_alert, open_alert
from anyshot_platform.people.notifications.service import due_emails
from anyshot_platform.running.operations.dead_letters import count_set_aside

_FEWEST_FOR_A_RATE = 5
LOOP_LATE = "loop_late"
SITE_DOWN = "site_down"
_DOWN_AFTER = timedelta(minutes=1)  # longer than a restart takes
NO_WORKERS = "no_workers"
_CONDITIONS = (NO_WORKERS, "queue_stalled", "failure_rate", "worker_failing", "set_aside", "mail_waits")


def is_watched(alert: Alert) -> bool:
    """Whether an alert closes when its condition is over; others were reported, and are closed by hand."""
    return alert.kind in (*_CONDITIONS, LOOP_LATE)


def watch_conditions(session: Session, settings: PlatformSettings) -> int:
    """Open the alerts whose condition holds, close the others; returns how many hold."""
    holding = {
        **_find_stalled(session, settings),
        **_find_failing(session, settings),
        **_find_set_aside(session),
        **_find_mail_waiting(session, settings),
    }
    _match_alerts(session, holding, Alert.kind.in_(_CONDITIONS))
    return len(holding)


def watch_loops(session: Session, settings: PlatformSettings) -> None:
    """Open an alert for each background thread that stands still, close the others: done by every web process."""
    late = {(LOOP_LATE, loop.name): _late_words(loop) for loop in late_loops(session, settings)}
    _match_alerts(session, late, Alert.kind == LOOP_LATE)


def watch_downtime(session: Session) -> None:
    """Record that no process of the site, or none with its database, was there: done by every web process."""
    moment = now()
    first = {"name": "watch", "process": "site", "last_at": moment, "failures": 0, "error": ""}
    session.execute(insert_into(session, LoopRound).values(first).on_conflict_do_nothing())
    mark = session.get_one(LoopRound, ("watch", "site"), with_for_update=True)
    if moment - mark.last_at > _DOWN_AFTER:
        words = f"The site was down from {moment_words(mark.last_at)} to {moment_words(moment)}."
        open_alert(session, SITE_DOWN, "", words).since = mark.last_at
        close_alert(session, SITE_DOWN, "")
    mark.last_at = moment


def late_loops(session: Session, settings: PlatformSettings, process: str | None = None) -> list[LoopState]:
    """The background threads, of the site or of one process, whose last round is too long ago."""
    return [loop for loop in read_loops(session, process) if loop.age > settings.alert_loop_seconds]


def _late_words(loop: LoopState) -> str:
    if loop.last_at is None:
        return f"No process runs the background thread “{loop.name}”: start `anyshot admin background`."
    return (
        f"The background thread “{loop.name}” of {loop.process} began no round since "
        f"{moment_words(loop.last_at)}."
    )


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
    words = (
        "An e-mail, a webhook message or a row was tried too often and is set aside."
        if number == 1
        else f"{number} e-mails, webhook messages or rows were tried too often and are set aside."
    )
    return {("set_aside", ""): words}


def _find_mail_waiting(session: Session, settings: PlatformSettings) -> dict[tuple[str, str], str]:
    number, since = due_emails(session)
    if since is None or (now() - since).total_seconds() <= settings.alert_mail_seconds:
        return {}
    words = (
        f"An e-mail waits to go out since {moment_words(since)}: is the mail server reachable?"
        if number == 1
        else (
            f"{number} e-mails wait to go out, the oldest since {moment_words(since)}: is the mail server reachable?"
        )
    )
    return {("mail_waits", ""): words}


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
            found[NO_WORKERS, name] = (
                f"Class “{name}” has no worker, and 1 run waits for it."
                if queued == 1
                else f"Class “{name}” has no worker, and {queued} runs wait for it."
            )
        elif age > settings.alert_queue_seconds:
            found["queue_stalled", name] = (
                f"The only run in the queue of “{name}” has waited for {age:.0f} s."
                if queued == 1
                else (
                    f"The oldest run in the queue of “{name}” has waited for {age:.0f} s; "
                    f"{queued} runs are in it."
                )
            )
    return found


def _aware(moment: datetime) -> datetime:
    # MIN() of a column may lose the column's type in SQLite.
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=now().tzinfo)


def _find_failing(session: Session, settings: PlatformSettings) -> dict[tuple[str, str], str]:
    """The site, and each worker, at which too large a share of the last hour's attempts failed through our fault."""
    ours = [verdict.value for verdict in Verdict if verdict.cause == Cause.INFRASTRUCTURE]
    rows = session.execute(
        select(
            Attempt.worker_id,
            Attempt.worker_name,
            func.count(Attempt.id),
            func.count(case((Attempt.outcome.in_(ours), Attempt.id))),
        )
        .where(Attempt.ended_at > now() - timedelta(hours=1), Attempt.outcome != "released")
        .group_by(Attempt.worker_id, Attempt.worker_name)
    ).all()

    def is_too_much(total: int, failed: int) -> bool:
        return total >= _FEWEST_FOR_A_RATE and failed / total >= settings.alert_failure_rate

    found = {
        ("worker_failing", worker_id): (
            f"{failed} of {total} attempts of the last hour on worker {name} failed through our fault."
        )
        for worker_id, name, total, failed in rows
        if is_too_much(total, failed)
    }
    total, failed = sum(row[2] for row in rows), sum(row[3] for row in rows)
    if is_too_much(total, failed):
        found["failure_rate", ""] = f"{failed} of {total} attempts of the last hour failed through our fault."
    return found
