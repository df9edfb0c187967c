"""Keeps log lines of runs, of long logs the beginning and the end, and reads them back under the phase's log policy."""

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from anyshot_core.wire.worker_api import Event, LogPolicy
from anyshot_platform.foundation.database import insert_into
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.run_logs.models import EventCount, RunEvent
from anyshot_platform.judging.run_logs.truncation import cut, newest_line
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.records import HeldRun
from anyshot_platform.judging.visibility.logs import stages_shown

LONGEST_LINE = 4000


def keep_events(
    session: Session, settings: PlatformSettings, run: Run | HeldRun, events: Sequence[Event]
) -> int:
    """Keep the lines of an attempt that are new; of a log past the cap, its beginning and its end.

    Returns how many were new. Sending twice is harmless.
    """
    if not events:
        return 0
    count = _count_of(session, run)
    if count.dropped:  # what came again must not count again
        newest = newest_line(session, count)
        events = [event for event in events if event.seq > newest]
    lengths = _insert_new(session, [_row(run, event) for event in events])
    count.lines += len(lengths)
    count.bytes += sum(lengths.values())
    count.left_out += sum(event.left_out for event in events if event.seq in lengths)
    cut(session, settings, count)
    session.flush()
    return len(lengths)


def _count_of(session: Session, run: Run | HeldRun) -> EventCount:
    count = session.get(EventCount, (run.id, run.epoch))
    if count is None:
        count = EventCount(run_id=run.id, epoch=run.epoch, lines=0, bytes=0, dropped=0, left_out=0)
        session.add(count)
        session.flush()
    return count


def _row(run: Run | HeldRun, event: Event) -> dict[str, object]:
    return {
        "run_id": run.id,
        "epoch": run.epoch,
        "seq": event.seq,
        "at": _moment(event.at),
        "stream": event.stream,
        "stage": event.stage,
        "text": clean_line(event.text),
    }


def count_missing_lines(session: Session, run_ids: Sequence[str]) -> dict[str, int]:
    """How many lines of each run were printed and are not kept; of a run without any there is no entry."""
    missing = EventCount.dropped + EventCount.left_out
    query = select(EventCount.run_id, func.sum(missing)).where(EventCount.run_id.in_(run_ids), missing > 0)
    return {run_id: int(lines) for run_id, lines in session.execute(query.group_by(EventCount.run_id))}


def clean_line(text: str) -> str:
    """A line as it is stored: without NUL and lone surrogates, which PostgreSQL refuses, and not endless."""
    text = text[:LONGEST_LINE].replace("\x00", "\ufffd")
    return text.encode("utf-8", "replace").decode()


def _moment(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC)


def _insert_new(session: Session, rows: list[dict[str, object]]) -> dict[int, int]:
    """The lengths of those that were not there yet, by their numbers."""
    statement = insert_into(session, RunEvent).on_conflict_do_nothing(
        index_elements=[RunEvent.run_id, RunEvent.epoch, RunEvent.seq]
    )
    lengths: dict[int, int] = {}
    for start in range(0, len(rows), 500):  # no driver counts the rows of an INSERT for sure
        new = statement.values(rows[start : start + 500]).returning(RunEvent.seq, func.length(RunEvent.text))
        lengths |= dict(session.execute(new).all())
    return lengths


def read_events(
    session: Session,
    run_ids: Sequence[str],
    *,
    policy: LogPolicy,
    after: int = 0,
    before: int | None = None,
    holding: str = "",
    limit: int = 1000,
    tail: bool = False,
) -> list[RunEvent]:
    """The lines of runs that the policy shows, with ids above `after` and below `before`, in order.

    `holding` takes those with that text in any case, `tail` the last ones.
    """
    query = select(RunEvent).where(RunEvent.run_id.in_(run_ids), RunEvent.id > after, shown_by(policy))
    if before is not None:
        query = query.where(RunEvent.id < before)
    if holding:
        query = query.where(RunEvent.text.icontains(clean_line(holding), autoescape=True))
    if tail:
        return list(session.scalars(query.order_by(RunEvent.id.desc()).limit(limit)))[::-1]
    return list(session.scalars(query.order_by(RunEvent.id).limit(limit)))


def shown_by(policy: LogPolicy) -> ColumnElement[bool]:
    """Which lines a participant may see; the platform's own words always."""
    return or_(RunEvent.stream == "platform", RunEvent.stage.in_(sorted(stages_shown(policy))))
