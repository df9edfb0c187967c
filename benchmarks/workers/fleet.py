"""Thousands of workers against one site: claims, heartbeats and logs by the wire's own client, without any sandbox.

A fleet is driven from some threads of this process over kept connections, on the machine that serves the site too. Each
of its workers claims a copy of one run, beats as far apart as the platform asks, and prints a line every few seconds.
"""

import sched
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.wire.worker_api import HEARTBEAT_SECONDS, Event, Progress, Stage, WorkerInfo
from anyshot_platform.foundation.database import new_id, now
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionStatus
from anyshot_platform.judging.workers.models import Worker
from anyshot_platform.judging.workers.tokens import create_worker_token
from anyshot_worker.client import StaleEpoch, WorkerApiError, WorkerClient
from benchmarks.figures import Figure, figure
from benchmarks.load.spent import Spent
from benchmarks.workers.place import Place

THREADS = 64
LINE_EVERY = 5.0  # seconds


@dataclass
class _Member:
    """A worker of the fleet; its run is known once it has claimed one."""

    client: WorkerClient
    info: WorkerInfo
    run_id: str = ""
    epoch: int = 0
    lines: int = 0


@dataclass
class _Seen:
    """What a fleet met: the seconds of each answer by kind, from when a beat was due; and what was refused."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {"claim": [], "beat": [], "log": []})
    lost: int = 0
    unanswered: int = 0
    longest_pace: float = HEARTBEAT_SECONDS


class Fleet:
    """Workers whose calls are made when they are due, by as many threads as there are connections."""

    def __init__(self) -> None:
        self.seen = _Seen()
        self._scheduler = sched.scheduler(time.monotonic)
        self._ended = threading.Event()
        self._calls = ThreadPoolExecutor(THREADS)
        self._clock = threading.Thread(target=self._tick, daemon=True)
        self._clock.start()

    def stop(self) -> None:
        """End after the calls that are under way."""
        self._ended.set()
        self._clock.join()
        self._calls.shutdown(cancel_futures=True)

    def forget(self) -> _Seen:
        """What was met so far; from here on it is counted anew."""
        seen, self.seen = self.seen, _Seen()
        return seen

    def put(self, at: float, kind: str, member: _Member) -> None:
        """Let a worker call at a moment."""
        self._scheduler.enterabs(at, 0, self._calls.submit, (self._work, at, kind, member))

    def _tick(self) -> None:
        while not self._ended.wait(0.002):
            self._scheduler.run(blocking=False)

    def _work(self, due: float, kind: str, member: _Member) -> None:
        began = time.monotonic()
        try:
            following = self._call(kind, member, began)
        except StaleEpoch:
            self.seen.lost += 1
            return
        except WorkerApiError:
            self.seen.unanswered += 1
            following = [(began + HEARTBEAT_SECONDS, kind)]
        else:
            if member.run_id:  # else it claimed in vain
                self.seen.seconds[kind].append(time.monotonic() - (began if kind == "claim" else due))
        for at, which in following:
            self.put(at, which, member)

    def _call(self, kind: str, member: _Member, began: float) -> list[tuple[float, str]]:
        """One call; when which others are due."""
        match kind:
            case "claim":
                job = member.client.claim(member.info)
                if job is None:
                    return [(began + 1, "claim")]
                member.run_id, member.epoch = job.run_id, job.epoch
                return [(began + HEARTBEAT_SECONDS, "beat"), (began + LINE_EVERY, "log")]
            case "beat":
                progress = Progress(stage=Stage.META_TRAINING, message=f"step {member.lines}")
                reply = member.client.heartbeat(member.run_id, member.epoch, progress)
                self.seen.longest_pace = max(self.seen.longest_pace, reply.pace_seconds)
                return [(began + max(HEARTBEAT_SECONDS, reply.pace_seconds), "beat")]
            case _:
                wait = max(LINE_EVERY, member.client.pace_seconds)
                events = [_line(member) for _ in range(round(wait / LINE_EVERY))]
                member.client.send_events(member.run_id, member.epoch, events)
                return [(began + wait, "log")]


def _line(member: _Member) -> Event:
    member.lines += 1
    text = f"step {member.lines}: loss 1.234567, accuracy 0.543210"
    return Event(seq=member.lines, at=time.time(), stream="stdout", stage=Stage.META_TRAINING, text=text)


def measure_fleet(
    place: Place, sizes: Sequence[int], seconds: float, processes: dict[str, int]
) -> list[Figure]:
    """A fleet that grows from size to size while its beats are in time; at each the new workers claim at once, and then
    all work for some seconds. `processes` are ids by what they serve.
    """
    with place.services.database.writing() as session:
        info = session.scalars(select(Worker).where(Worker.info.is_not(None)).limit(1)).one().info
        assert info is not None  # as was asked for
        token = create_worker_token(session, "fleet")
    transport = httpx.HTTPTransport(limits=httpx.Limits(max_connections=THREADS))
    fleet, figures, size, largest = Fleet(), list[Figure](), 0, 0
    for wanted in sorted(sizes):
        with place.services.database.writing() as session:
            _copy_runs(session, wanted - size)
        for number in range(size, wanted):
            client = WorkerClient(str(place.client.base_url), token, transport=transport)
            says = info.model_copy(update={"name": f"fleet{number}"})
            fleet.put(time.monotonic(), "claim", _Member(client, says))
        found, in_time = _measure_size(fleet, wanted, wanted - size, seconds, processes)
        figures += found
        if not in_time:
            break
        size = largest = wanted
    fleet.stop()
    return [*figures, figure("workers.fleet_largest", largest, "workers")]


def _measure_size(
    fleet: Fleet, size: int, new: int, seconds: float, processes: dict[str, int]
) -> tuple[list[Figure], bool]:
    """The figures of a fleet of one size, and whether no lease was lost and 99 of 100 beats came within their pace."""
    began = time.monotonic()
    while len(fleet.seen.seconds["claim"]) < new:
        if time.monotonic() - began > 600:
            raise RuntimeError(f"{len(fleet.seen.seconds['claim'])} of {new} workers have claimed a run")
        time.sleep(0.1)
    claiming = time.monotonic() - began
    claims = fleet.forget()
    time.sleep(claims.longest_pace + 5)  # until all beat as far apart as they are asked to
    start = fleet.forget()
    spent, began = Spent(processes), time.monotonic()
    time.sleep(seconds)
    took, steady = time.monotonic() - began, fleet.forget()
    shares = spent.cores()
    lost = claims.lost + start.lost + steady.lost
    p99, pace = _percentile(steady.seconds["beat"], 0.99), steady.longest_pace
    calls = len(steady.seconds["beat"]) + len(steady.seconds["log"])
    name = f"workers.fleet_of_{size}"
    return [
        figure(f"{name}_claims", new / claiming, "1/s"),
        figure(f"{name}_claim_p50", _percentile(claims.seconds["claim"], 0.5) * 1000, "ms"),
        figure(f"{name}_claim_p99", _percentile(claims.seconds["claim"], 0.99) * 1000, "ms"),
        figure(f"{name}_pace", pace, "s"),
        figure(f"{name}_calls", calls / took, "1/s"),
        figure(f"{name}_beat_p50", _percentile(steady.seconds["beat"], 0.5) * 1000, "ms"),
        figure(f"{name}_beat_p99", p99 * 1000, "ms", f"< {1000 * pace:.0f}", p99 < pace),
        figure(f"{name}_unanswered", steady.unanswered, "calls"),
        figure(f"{name}_leases_lost", lost, "leases", "0", lost == 0),
        *(figure(f"{name}_{process}", share, "cores") for process, share in shares.items()),
    ], p99 < pace and not lost


def _copy_runs(session: Session, count: int) -> None:
    """Queued copies of the first finished run, each of a submission of its own."""
    run = session.scalars(select(Run).where(Run.state == RunState.FINISHED).order_by(Run.queued_at)).first()
    assert run is not None  # the stage is set by a submission that is scored
    fresh = {"state": RunState.QUEUED, "epoch": 0, "attempt": 0, "worker_id": None, "lease_expires_at": None}
    fresh |= {"queued_at": now(), "available_at": now(), "claimed_at": None, "finished_at": None}
    for _ in range(count):
        submission = Submission(**_columns(run.submission, status=SubmissionStatus.QUEUED, finished_at=None))
        session.add(submission)
        session.flush()
        session.add(Run(**_columns(run, submission_id=submission.id, **fresh)))


def _columns(row: Any, **changes: Any) -> dict[str, Any]:
    known = {column.key: getattr(row, column.key) for column in row.__mapper__.column_attrs}
    return {**known, "id": new_id(), **changes}


def _percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))]
