"""Keeps log lines of runs, of long logs the beginning and the end, and reads them back under the phase's log policy."""

from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import accumulate
from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, delete, func, or_, select, update
from sqlalchemy.orm import Session

from anyshot_core.wire.worker_api import Event, LogPolicy
from anyshot_platform.foundation.database import insert_into
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.run_logs.models import EventCount, RunEvent
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.records import HeldRun
from anyshot_platform.judging.visibility.logs import stages_shown

LONGEST_LINE = 4000
_HEAD = 0.9  # of the cap: the beginning, which stays as it came
_TAIL = 0.05  # of the cap: the end that a cut leaves; the next cut comes when it has grown to the rest of it


class _Line(NamedTuple):
    id: int
    length: int


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
        newest = _newest_line(session, count)
        events = [event for event in events if event.seq > newest]
    lengths = _insert_new(session, [_row(run, event) for event in events])
    count.lines += len(lengths)
    count.bytes += sum(lengths.values())
    count.left_out += sum(event.left_out for event in events if event.seq in lengths)
    _cut(session, settings, count)
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


def _cut(session: Session, settings: PlatformSettings, count: EventCount) -> None:
    """Drop lines between the beginning and the end of an attempt's log if it is past the cap; the platform's own stay.

    The last line that is dropped becomes the one that says how many are gone, and moves on with each cut: who reads
    along and has not come as far yet meets it.
    """
    if count.lines <= settings.events_max_lines and count.bytes <= settings.events_max_bytes:
        return
    gap = _find_gap(session, count)
    lines = _read_lines(session, count, after=gap or 0)
    head = 0 if gap else _how_many_fit(lines, settings, _HEAD)
    tail = max(1, _how_many_fit(lines[head:][::-1], settings, _TAIL))
    if middle := lines[head : len(lines) - tail]:
        _drop(session, count, middle, gap)


def _newest_line(session: Session, count: EventCount) -> int:
    """The number of the last line of an attempt that came; it is always kept."""
    return session.scalars(select(func.max(RunEvent.seq)).where(_of_attempt(count))).one()


def gap_words(dropped: int) -> str:
    """The line that stands where lines are gone."""
    lines = f"{dropped:,} line{'' if dropped == 1 else 's'}"
    return f"Left out here: {lines}. The platform keeps the beginning and the end of a long log."


def _of_attempt(count: EventCount) -> ColumnElement[bool]:
    return and_(RunEvent.run_id == count.run_id, RunEvent.epoch == count.epoch)


def _find_gap(session: Session, count: EventCount) -> int | None:
    """The id of the line that says what is gone, if any is."""
    said = and_(RunEvent.stream == "platform", RunEvent.text == gap_words(count.dropped))
    return session.scalar(select(func.max(RunEvent.id)).where(_of_attempt(count), said))


def _read_lines(session: Session, count: EventCount, *, after: int) -> list[_Line]:
    """Ids and lengths of what the code printed, in order."""
    query = select(RunEvent.id, func.length(RunEvent.text)).where(
        _of_attempt(count), RunEvent.id > after, RunEvent.stream != "platform"
    )
    return [_Line(*row) for row in session.execute(query.order_by(RunEvent.id))]


def _how_many_fit(lines: Sequence[_Line], settings: PlatformSettings, share: float) -> int:
    """How many of the lines, from the first on, fit into a share of the cap."""
    sizes = accumulate(line.length for line in lines[: int(settings.events_max_lines * share)])
    return bisect_right(list(sizes), settings.events_max_bytes * share)


def _drop(session: Session, count: EventCount, middle: Sequence[_Line], gap: int | None) -> None:
    first, last = middle[0].id, middle[-1].id
    between = and_(RunEvent.stream != "platform", RunEvent.id >= first, RunEvent.id < last)
    gone = delete(RunEvent).where(_of_attempt(count), between | (RunEvent.id == gap))
    session.execute(gone, execution_options={"synchronize_session": False})
    count.lines -= len(middle)
    count.bytes -= sum(line.length for line in middle)
    count.dropped += len(middle)
    said = update(RunEvent).where(RunEvent.id == last)
    session.execute(
        said.values(stream="platform", text=gap_words(count.dropped)),
        execution_options={"synchronize_session": False},
    )
