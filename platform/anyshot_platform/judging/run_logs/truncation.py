"""Cuts a log that has become too long: its beginning and its end stay, and a line between them says what is gone."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, delete, func, select, update
from sqlalchemy.orm import Session

from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.run_logs.models import EventCount, RunEvent

HEAD = 0.9  # of the cap: the beginning, which stays as it came
TAIL = (
    0.05  # of the cap: the end that a cut leaves; the next cut comes when it has grown to the rest of the cap
)


class _Line(NamedTuple):
    id: int
    length: int


def cut(session: Session, settings: PlatformSettings, count: EventCount) -> None:
    """Drop lines between the beginning and the end of an attempt's log if it is past the cap; the platform's own stay.

    The last line that is dropped becomes the one that says how many are gone, and moves on with each cut: who reads
    along and has not come as far yet meets it.
    """
    if count.lines <= settings.events_max_lines and count.bytes <= settings.events_max_bytes:
        return
    gap = _find_gap(session, count)
    lines = _read_lines(session, count, after=gap or 0)
    head = 0 if gap else _how_many_fit(lines, settings, HEAD)
    tail = max(1, _how_many_fit(lines[head:][::-1], settings, TAIL))
    if middle := lines[head : len(lines) - tail]:
        _drop(session, count, middle, gap)


def newest_line(session: Session, count: EventCount) -> int:
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
