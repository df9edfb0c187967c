"""Keeps log lines of runs, capped, and reads them back under the phase's log policy."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from anyshot_core.wire.worker_api import Event, LogPolicy
from anyshot_platform.database import insert_into
from anyshot_platform.events.models import EventCount, RunEvent
from anyshot_platform.runs.models import Run
from anyshot_platform.settings import PlatformSettings
from anyshot_platform.sight.logs import stages_shown

LONGEST_LINE = 4000


def keep_events(session: Session, settings: PlatformSettings, run: Run, events: Sequence[Event]) -> int:
    """Keep the lines of an attempt that are new, up to the cap; returns how many. Sending twice is harmless."""
    if not events:
        return 0
    count = session.get(EventCount, (run.id, run.epoch))
    if count is None:
        count = EventCount(run_id=run.id, epoch=run.epoch, lines=0, bytes=0, dropped=0)
        session.add(count)
        session.flush()
    rows = []
    size = 0
    for event in events:
        text = clean_line(event.text)
        full = (
            count.lines + len(rows) >= settings.events_max_lines
            or count.bytes + size >= settings.events_max_bytes
        )
        if full and event.stream != "platform":
            count.dropped += 1
            continue
        size += len(text)
        rows.append(
            {
                "run_id": run.id,
                "epoch": run.epoch,
                "seq": event.seq,
                "at": _moment(event.at),
                "stream": event.stream,
                "stage": event.stage,
                "text": text,
            }
        )
    kept = _insert_new(session, rows)
    count.lines += kept
    count.bytes += size
    session.flush()
    return kept


def count_missing_lines(session: Session, run_ids: Sequence[str]) -> dict[str, int]:
    """How many lines of each run came and are not kept; of a run without any there is no entry."""
    query = select(EventCount.run_id, func.sum(EventCount.dropped)).where(
        EventCount.run_id.in_(run_ids), EventCount.dropped > 0
    )
    return {run_id: int(dropped) for run_id, dropped in session.execute(query.group_by(EventCount.run_id))}


def clean_line(text: str) -> str:
    """A line as it is stored: without NUL and lone surrogates, which PostgreSQL refuses, and not endless."""
    text = text[:LONGEST_LINE].replace("\x00", "\ufffd")
    return text.encode("utf-8", "replace").decode()


def _moment(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC)


def _insert_new(session: Session, rows: list[dict[str, object]]) -> int:
    if not rows:
        return 0
    statement = insert_into(session, RunEvent).on_conflict_do_nothing(
        index_elements=[RunEvent.run_id, RunEvent.epoch, RunEvent.seq]
    )
    inserted = 0
    for start in range(0, len(rows), 500):  # no driver counts the rows of an INSERT for sure
        new = statement.values(rows[start : start + 500]).returning(RunEvent.seq)
        inserted += len(session.scalars(new).all())
    return inserted


def read_events(
    session: Session,
    run_ids: Sequence[str],
    *,
    policy: LogPolicy,
    after: int = 0,
    limit: int = 1000,
    tail: bool = False,
) -> list[RunEvent]:
    """The lines of runs that the policy shows, with ids above `after`, in order; `tail` takes the last ones."""
    query = select(RunEvent).where(RunEvent.run_id.in_(run_ids), RunEvent.id > after, shown_by(policy))
    if tail:
        return list(session.scalars(query.order_by(RunEvent.id.desc()).limit(limit)))[::-1]
    return list(session.scalars(query.order_by(RunEvent.id).limit(limit)))


def shown_by(policy: LogPolicy) -> ColumnElement[bool]:
    """Which lines a participant may see; the platform's own words always."""
    return or_(RunEvent.stream == "platform", RunEvent.stage.in_(sorted(stages_shown(policy))))
