"""One reader for all event streams of a process: it sees which submissions changed, and wakes their streams alone.

A stream that waits costs nothing but its socket: a few statements for all of them, a few times a second, find out what
changed. What changed is then read by `look`, in two threads of its own, so that streams take none from requests.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import anyio
from anyio import to_thread
from fastapi import Request
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.errors import PlatformError, TooMany
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.run_logs.models import EventCount
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RUNNING, RunState
from anyshot_platform.judging.submissions.models import Submission

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger(__name__)
_READERS = 2  # threads
_QUICK, _QUIET = 0.1, 0.25  # seconds between two looks: within 3 s of a change, and else
_LIVELY = 3.0
_QUEUE_EVERY = 2.0
_REST = 19  # the reader rests at least so many times as long as it reads: a twentieth of a core at most
_KEEP_ALIVE = 15.0
_LONGEST = 3600.0  # then the browser connects again by itself
_CHECKED_EVERY = 60.0  # whether the viewer may still read
_BATCH = 500


class Watching:
    """The submissions that are watched in this process, each with the events that wake its streams."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._wakes: dict[str, list[asyncio.Event]] = {}
        self._known: dict[str, object] = {}
        self._users: Counter[str] = Counter()
        self._threads = anyio.CapacityLimiter(_READERS)
        self._task: asyncio.Task[None] | None = None
        self._queue: object = None
        self._queue_at = float("-inf")

    def require_room(self, user_id: str) -> None:
        """Raise `TooMany` if a user has as many streams as one may have."""
        most = self._services.settings.budgets["streams"].limit
        if most and self._users[user_id] >= most:
            raise TooMany(f"You have {most} live pages open; please close some.", retry_after=15)

    @contextmanager
    def watch(self, submission_id: str, user_id: str) -> Iterator[asyncio.Event]:
        """An event that is set whenever the submission has changed, from now on."""
        wake = asyncio.Event()
        wakes = self._wakes.setdefault(submission_id, [])
        wakes.append(wake)
        self._users[user_id] += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._read_on())
        try:
            yield wake
        finally:
            self._users[user_id] -= 1
            wakes.remove(wake)
            if not wakes:
                self._wakes.pop(submission_id, None)
                self._known.pop(submission_id, None)

    async def look(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Call a function that reads from the database, in one of the readers' threads."""
        return await to_thread.run_sync(partial(function, *arguments, **named), limiter=self._threads)

    async def _read_on(self) -> None:
        lively_until = 0.0
        while self._wakes:
            began = time.monotonic()
            try:
                if self._wake_changed(await self.look(self._read, list(self._wakes))):
                    lively_until = began + _LIVELY
            except Exception:
                log.exception("the reader of the event streams failed")
                await asyncio.sleep(1.0)
            cost = time.monotonic() - began
            await asyncio.sleep(max(_QUICK if began < lively_until else _QUIET, _REST * cost))

    def _wake_changed(self, found: dict[str, object]) -> bool:
        changed = [one for one, mark in found.items() if self._known.get(one) != mark and one in self._wakes]
        for one in changed:
            self._known[one] = found[one]
            for wake in self._wakes[one]:
                wake.set()
        return bool(changed)

    def _read(self, ids: list[str]) -> dict[str, object]:
        with self._services.database.reading() as session:
            if time.monotonic() - self._queue_at > _QUEUE_EVERY:
                self._queue, self._queue_at = read_queue(session), time.monotonic()
            found: dict[str, object] = {}
            for start in range(0, len(ids), _BATCH):
                found |= read_marks(session, ids[start : start + _BATCH], self._queue)
            return found


def read_queue(session: Session) -> object:
    """What places in the queues depend on."""
    moving = Run.state.in_(sorted({RunState.QUEUED, *RUNNING}))
    counts = select(Run.hardware_class, Run.state, func.count(Run.id), func.max(Run.queued_at))
    rows = session.execute(counts.where(moving).group_by(Run.hardware_class, Run.state))
    return tuple(sorted(tuple(map(str, row)) for row in rows))


def read_marks(session: Session, ids: list[str], queue: object) -> dict[str, object]:
    """For each submission something that differs when what its streams show differs."""
    heads = select(Submission.id, Submission.status, Submission.verdict, Phase.live_version).join(Phase)
    marks: dict[str, list[object]] = {
        row[0]: [tuple(row)] for row in session.execute(heads.where(Submission.id.in_(ids)))
    }
    runs = select(
        Run.submission_id,
        Run.id,
        Run.state,
        Run.epoch,
        Run.attempt,
        Run.tasks_done,
        Run.seconds_used,
        Run.message,
        Run.progress_message,
        Run.cancel_requested_at,
    )
    for row in session.execute(runs.where(Run.submission_id.in_(ids)).order_by(Run.id)):
        marks.setdefault(str(row[0]), []).append(tuple(row))
        if row.state == RunState.QUEUED:
            marks[str(row[0])].append(queue)
    came = EventCount.lines + EventCount.dropped  # alone, the lines kept are as many again after a cut
    lines = select(Run.submission_id, EventCount.run_id, EventCount.epoch, came)
    joined = lines.join(Run, Run.id == EventCount.run_id).where(Run.submission_id.in_(ids))
    for row in session.execute(joined.order_by(EventCount.run_id, EventCount.epoch)):
        marks.setdefault(str(row[0]), []).append(tuple(row))
    return {one: tuple(mark) for one, mark in marks.items()}


_OF_LOOPS: WeakKeyDictionary[asyncio.AbstractEventLoop, Watching] = WeakKeyDictionary()


def watching_of(services: Services) -> Watching:
    """The reader of the event loop that asks."""
    return _OF_LOOPS.setdefault(asyncio.get_running_loop(), Watching(services))


async def changes(
    request: Request, watching: Watching, submission_id: str, user_id: str, may_read: Callable[[], object]
) -> AsyncIterator[bool]:
    """True at once and whenever the submission has changed, False every 15 s in between, as a sign of life.

    Ends when the browser leaves, after an hour, and when `may_read`, asked each minute, raises a `PlatformError`.
    """
    clock = asyncio.get_running_loop().time
    began = checked = clock()
    with watching.watch(submission_id, user_id) as wake:
        yield True
        while clock() - began < _LONGEST and not await request.is_disconnected():
            changed = await _wait(wake)
            if clock() - checked > _CHECKED_EVERY:
                checked = clock()
                try:
                    await watching.look(may_read)
                except PlatformError:
                    return
            yield changed


async def _wait(wake: asyncio.Event) -> bool:
    try:
        await asyncio.wait_for(wake.wait(), _KEEP_ALIVE)
    except TimeoutError:
        return False
    wake.clear()
    return True
