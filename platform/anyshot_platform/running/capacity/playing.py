"""Workers that take queued runs on a virtual clock: whatever decides is the platform's own, on a database in memory."""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import heappop, heappush
from itertools import count
from random import Random

from sqlalchemy import create_engine, select
from sqlalchemy.orm import Session

from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import WorkerInfo
from anyshot_platform.foundation.database import Base, now, virtual_clock
from anyshot_platform.foundation.domain_events import SUBSCRIBERS_KEY
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.domain_events import PartsFinished, RunEnded, ScoresChanged, SubmissionEnded
from anyshot_platform.judging.execution.leases import claim, end_attempt, lose
from anyshot_platform.judging.execution.settlement import settle
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.runs.transitions import write_state
from anyshot_platform.judging.workers.images import GONE_KEY

_NEVER_GONE = 1e9  # seconds: the workers of a play are heard of by no heartbeats
_ANY_QUEUED = select(Run.id).where(Run.state == RunState.QUEUED).limit(1)
_EVENTS = (RunEnded, PartsFinished, ScoresChanged, SubmissionEnded)


@contextmanager
def database_in_memory() -> Iterator[Session]:
    """A session on an empty database of its own with all tables, whose references nobody checks."""
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine)
    facts = {GONE_KEY: _NEVER_GONE, SUBSCRIBERS_KEY: dict.fromkeys(_EVENTS, ())}
    with Session(engine, info=facts, expire_on_commit=False) as session:
        yield session
    engine.dispose()


@dataclass(frozen=True)
class PlayedWorker:
    """A worker: its token's id and what it says of itself; workers of one `kind` can do the same runs."""

    token_id: str
    info: WorkerInfo
    kind: str = ""


@dataclass
class Play:
    """What happens from a moment on. `seconds` gives how long an attempt of a run takes.

    `lost` is the share of attempts whose worker falls silent on the way: its lease runs out.
    """

    session: Session
    settings: PlatformSettings
    seconds: Callable[[Run], float]
    chance: Random
    lost: float = 0.0
    idle: deque[PlayedWorker] = field(default_factory=deque)
    starts: dict[str, datetime] = field(default_factory=dict)  # of runs, the first one
    waits: list[float] = field(default_factory=list)  # seconds from queued to started, in the order of starts
    busy_seconds: float = 0.0
    moment: datetime = field(init=False)  # of the last event
    _events: list[tuple[datetime, int, Callable[[], None]]] = field(default_factory=list)
    _order: Iterator[int] = field(default_factory=count)

    def at(self, moment: datetime, happens: Callable[[], None]) -> None:
        """Let something happen at a moment."""
        heappush(self._events, (moment, next(self._order), happens))

    def play(self, over: Callable[[], bool] = lambda: False) -> None:
        """Go from event to event, and let idle workers claim after each, until nothing is left or it is `over`."""
        with virtual_clock() as set_clock:
            while self._events and not over():
                self.moment, _, happens = heappop(self._events)
                set_clock(self.moment)
                happens()
                more = self._events and self._events[0][0] == self.moment
                if not more:
                    self._let_claim()

    def _let_claim(self) -> None:
        """Let each idle worker ask for a run, until as many of a kind got nothing as a run has attempts.

        A run may have gone wrong on each of those before the last a short while ago.
        """
        nothing: Counter[str] = Counter()
        for worker in [self.idle.popleft() for _ in range(len(self.idle))]:
            found = None
            if nothing[worker.kind] < self.settings.infrastructure_attempts and self.session.scalar(
                _ANY_QUEUED
            ):
                found = claim(self.session, self.settings, worker.token_id, worker.info)
            if found is None:
                nothing[worker.kind] += 1
                self.idle.append(worker)
            else:
                self._begin(found.run, worker)

    def _begin(self, run: Run, worker: PlayedWorker) -> None:
        if run.id not in self.starts:
            self.starts[run.id] = now()
            self.waits.append((now() - run.queued_at).total_seconds())
        seconds = self.seconds(run)
        if self.chance.random() < self.lost:
            silent = self.chance.random() * seconds + self.settings.lease_seconds
            self.hold(run.id, worker, silent, self._lose)
        else:
            self.hold(run.id, worker, seconds, self._finish)

    def hold(
        self, run_id: str, worker: PlayedWorker, seconds: float, ends: Callable[[Run], None] | None = None
    ) -> None:
        """Keep a worker busy with a run for some seconds from now on; then it ends, finished unless `ends` says so."""

        def free() -> None:
            (ends or self._finish)(self.session.get_one(Run, run_id))
            self.idle.append(worker)

        self.busy_seconds += seconds
        self.at(now() + timedelta(seconds=seconds), free)

    def _lose(self, run: Run) -> None:
        lose(self.session, self.settings, run)

    def _finish(self, run: Run) -> None:
        """The end of `judging.execution.results.complete`, without a score."""
        end_attempt(self.session, run, outcome=Verdict.OK.value)
        write_state(
            self.session,
            run,
            RunState.FINISHED,
            verdict=Verdict.OK,
            finished_at=now(),
            lease_expires_at=None,
        )
        settle(self.session, run)
