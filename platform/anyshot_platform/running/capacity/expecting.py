"""When a worker should take each queued run: the queue is played on, with lengths drawn from the last runs.

The platform's own scheduler is played several times for the order in which runs start; when they start in this order is
drawn often. Uploads that come later and go before a run are not foreseen.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from heapq import heapify, heapreplace
from math import exp

import numpy as np
from sqlalchemy import insert, or_, select, update
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.foundation.database import Base, now
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.execution.kinds import kind_of
from anyshot_platform.judging.runs.models import QUEUE_ORDER, Attempt, Run
from anyshot_platform.judging.runs.records import ExpectedStart
from anyshot_platform.judging.runs.states import RUNNING, RunState
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.workers.images import taking_work
from anyshot_platform.judging.workers.models import Worker, WorkerToken
from anyshot_platform.judging.workers.places import recent_seconds
from anyshot_platform.running.capacity.playing import Play, PlayedWorker, database_in_memory

_MOST = 100  # runs of a class, the next to start
_CLAIMS = 200  # in all plays of a class: seconds of a core
_PLAYS = (3, 10)  # at least, at most
_DRAWS = 300
_RANGE = {"earliest": 0.05, "likely": 0.5, "latest": 0.95}
_RECENT = 100  # runs of a phase, from which lengths are drawn
_FEWEST = 5  # runs of a phase that have ended: fewer say too little of the others
_TRIES = 30  # to draw a length beyond what a run has taken
_LONGER = 1.25  # times its length so far: the most that is expected of a run beyond its budget


@dataclass(frozen=True)
class _Lengths:
    """What runs of a phase take, in seconds: those that have ended, and those that run, so far."""

    ended: Sequence[float]
    so_far: Sequence[float]
    budget: float

    @cached_property
    def spread(self) -> float:
        """By how much a length may differ from the one that it is drawn from, as the deviation of its logarithm."""
        number = len(self.ended)
        return float(np.std(np.log(self.ended))) * number**-0.2 + 0.5 / (number + 1) if number else 0.0

    def at_least(self, seconds: float, chance: random.Random) -> float:
        """A length beyond some seconds, near to one of those that have ended; up to the budget where none is longer."""
        for _ in range(_TRIES if self.ended else 0):
            drawn = chance.choice(self.ended) * exp(chance.gauss(0.0, self.spread))
            if drawn > seconds:
                return drawn
        return chance.uniform(seconds, max(self.budget, _LONGER * seconds))

    def resample(self, chance: random.Random) -> list[float]:
        """Lengths as another such phase might have had them: a few say little of the next.

        Of what still runs the length is drawn: those that have ended alone are too short.
        """
        every = [*((one, True) for one in self.ended), *((one, False) for one in self.so_far)] or [
            (0.0, False)
        ]
        return [
            one * exp(chance.gauss(0.0, self.spread)) if ended else self.at_least(one, chance)
            for one, ended in chance.choices(every, k=len(every))
        ]


@dataclass(frozen=True)
class _Queue:
    """What runs and waits for a class of machines."""

    running: Sequence[Run]  # on workers that take work
    queued: Sequence[Run]
    workers: Sequence[Worker]
    lengths: Mapping[str, _Lengths]  # of runs, by their ids
    moment: datetime

    @cached_property
    def slots(self) -> list[tuple[Worker, Run | None]]:
        """What can take a run: a worker that has none, and each run that ends on one."""
        runs: defaultdict[str | None, list[Run | None]] = defaultdict(list)
        for run in self.running:
            runs[run.worker_id].append(run)
        return [(worker, run) for worker in self.workers for run in runs[worker.id] or [None]]

    def draw(self, chance: random.Random) -> Iterator[float]:
        """Seconds until each slot is free."""
        for _, run in self.slots:
            so_far = 0.0 if run is None else _so_far(run, self.moment)
            yield 0.0 if run is None else self.lengths[run.id].at_least(so_far, chance) - so_far


def expect_starts(services: Services) -> int:
    """Note when queued runs should start; returns of how many that can be told."""
    with services.database.reading() as session:
        queued = select(Run.hardware_class).where(Run.state == RunState.QUEUED).distinct()
        found: dict[str, ExpectedStart] = {}
        for hardware_class in session.scalars(queued).all():
            found |= expect_of_class(session, services.settings, hardware_class)
    if found:
        with services.database.writing() as session:
            for run_id, expected in found.items():
                waits = (Run.id == run_id, Run.state == RunState.QUEUED)
                session.execute(update(Run).where(*waits).values(expected_start=expected))
    return len(found)


def expect_of_class(
    session: Session, settings: PlatformSettings, hardware_class: str
) -> dict[str, ExpectedStart]:
    """The expected starts of the next queued runs of a class, by their ids; of phases whose lengths are known."""
    queue, chance = _read_queue(session, hardware_class), random.Random(0)
    if not queue.slots or not queue.queued:
        return {}
    fewest, most = _PLAYS
    plays = min(max(_CLAIMS // len(queue.queued), fewest), most)
    starts: defaultdict[str, list[float]] = defaultdict(list)
    with database_in_memory() as copy:
        _copy_queue(session, copy, queue)
        for _ in range(plays):
            order = _play_order(copy, settings, queue, chance)
            for _ in range(_DRAWS // plays):
                _draw_starts(queue, order, starts, chance)
    return {
        run_id: ExpectedStart(
            **{
                name: queue.moment + timedelta(seconds=float(np.quantile(drawn, share)))
                for name, share in _RANGE.items()
            }
        )
        for run_id, drawn in starts.items()
        if len(queue.lengths[run_id].ended) >= _FEWEST
    }


def _read_queue(session: Session, hardware_class: str) -> _Queue:
    moment, of_class = now(), Run.hardware_class == hardware_class
    workers = [one for one in taking_work(session, hardware_class) if one.info and not one.draining]
    on_them = Run.worker_id.in_([one.id for one in workers])
    running = session.scalars(select(Run).where(of_class, Run.state.in_(sorted(RUNNING)), on_them)).all()
    waiting = select(Run).where(of_class, Run.state == RunState.QUEUED)
    queued = session.scalars(waiting.order_by(*QUEUE_ORDER).limit(_MOST)).all()
    alike: defaultdict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in (*running, *queued):
        alike[run.phase_id, run.kind].append(run)
    lengths = {}
    for (phase_id, kind), runs in alike.items():
        known = recent_seconds(session, Run.phase_id == phase_id, Run.kind == kind, limit=_RECENT)
        ended = [max(one, 0.1) for one in known]
        so_far = [_so_far(run, moment) for run in runs if run.state != RunState.QUEUED]
        lengths |= {run.id: _Lengths(ended, so_far, kind_of(run).seconds(run)) for run in runs}
    return _Queue(running, queued, workers, lengths, moment)


def _copy_queue(source: Session, target: Session, queue: _Queue) -> None:
    """The rows that choosing a run reads, and the last claims, by which competitions take turns."""
    runs = [*queue.running, *queue.queued]
    ids, competitions = [run.id for run in runs], {run.competition_id for run in runs}
    last = [
        source.scalar(
            select(Run.id)
            .where(Run.competition_id == one, Run.claimed_at.is_not(None))
            .order_by(Run.claimed_at.desc())
            .limit(1)
        )
        for one in competitions
    ]
    for table, condition in (
        (Competition, Competition.id.in_(competitions)),
        (Phase, Phase.id.in_({run.phase_id for run in runs})),
        (PhaseVersion, PhaseVersion.id.in_({run.phase_version_id for run in runs})),
        (Submission, Submission.id.in_({run.submission_id for run in runs})),
        (Run, or_(Run.id.in_(ids), Run.id.in_(last))),
        (Attempt, Attempt.run_id.in_(ids)),
        (WorkerToken, WorkerToken.id.in_({one.token_id for one in queue.workers})),
        (Worker, Worker.id.in_([one.id for one in queue.workers])),
    ):
        columns = Base.metadata.tables[table.__tablename__]
        rows = source.execute(select(columns).where(condition)).mappings().all()
        if rows:
            target.execute(insert(columns), [dict(row) for row in rows])
    target.commit()


def _play_order(copy: Session, settings: PlatformSettings, queue: _Queue, chance: random.Random) -> list[Run]:
    """The queued runs in the order in which workers take them, with lengths drawn once; the copy stays as it was."""
    by_id = {run.id: run for run in queue.queued}
    play = Play(copy, settings, lambda run: chance.choice(queue.lengths[run.id].resample(chance)), chance)
    for (worker, run), seconds in zip(queue.slots, queue.draw(chance), strict=True):
        assert worker.info is not None  # of a worker in a queue
        kind = worker.info.model_copy(update={"name": ""}).model_dump_json()
        played = PlayedWorker(worker.token_id, worker.info, kind)
        if run is None:
            play.idle.append(played)
        else:
            play.hold(run.id, played, seconds)
    play.at(queue.moment, lambda: None)
    play.play(over=lambda: len(play.starts) >= len(by_id))
    copy.rollback()
    copy.expunge_all()
    return [by_id[run_id] for run_id in play.starts if run_id in by_id]


def _draw_starts(
    queue: _Queue, order: Sequence[Run], starts: Mapping[str, list[float]], chance: random.Random
) -> None:
    """Draw all lengths once, and let each run of the order start on the slot that is free first."""
    samples: dict[int, list[float]] = {}
    slots = list(queue.draw(chance))
    heapify(slots)
    for run in order:
        start = max(slots[0], (run.available_at - queue.moment).total_seconds())
        starts[run.id].append(start)
        known = queue.lengths[run.id]
        key = id(known.ended)
        if key not in samples:
            samples[key] = known.resample(chance)
        heapreplace(slots, start + chance.choice(samples[key]))


def _so_far(run: Run, moment: datetime) -> float:
    return (moment - (run.claimed_at or moment)).total_seconds()
