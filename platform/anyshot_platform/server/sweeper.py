"""The sweeper: finds what was lost, and puts it right. Any number may run; a lease in the database lets one sweep."""

import logging
import time
from collections.abc import Callable, Mapping
from datetime import timedelta

from sqlalchemy import Select, and_, or_, select, update
from sqlalchemy.orm import Session

from anyshot_platform.contest.pools.actions.acts import pools_to_publish, publish_if_over
from anyshot_platform.foundation.background.duties import take_duty
from anyshot_platform.foundation.background.isolation import each, forget_old_troubles
from anyshot_platform.foundation.background.loops import Loop, forget_dead_processes, this_process
from anyshot_platform.foundation.background.outbox import forget_old_rings, put_ring
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.execution.leases import lose
from anyshot_platform.judging.execution.parts import lock_run
from anyshot_platform.judging.execution.shards import settle_forgotten_parts
from anyshot_platform.judging.runs.models import QUEUE_ORDER, Run
from anyshot_platform.judging.runs.states import RUNNING, RunState
from anyshot_platform.judging.runs.transitions import StaleEpoch
from anyshot_platform.judging.submissions.uploads import forget_old_uploads
from anyshot_platform.judging.workers.images import count_workers
from anyshot_platform.judging.workers.requests import forget_old_requests
from anyshot_platform.people.rate_limits.counting import forget_old_hits
from anyshot_platform.running.announcements.phases import phases_with_news, tell_of_phase
from anyshot_platform.running.capacity.expecting import expect_starts
from anyshot_platform.running.operations.retention import collect_garbage, drop_spent_rows
from anyshot_platform.running.operations.watch import watch_conditions
from anyshot_platform.running.rehearsals.playing import go_on, underway

log = logging.getLogger(__name__)
_HOUSEKEEPING_EVERY = 3600.0
_LEASES_EVERY = 2.0  # a dead worker's run waits for its lease to run out, and not for us after that
_EXPECTED_EVERY = 60.0
_EXPECTED_SHARE = 0.02  # of a core at most: the longer the queue, the less often
_RINGS_A_WORKER = 2
FORGIVEN_SECONDS = 10.0  # a few heartbeats


def read_clocks() -> tuple[float, float]:
    """The monotonic clock, and the wall clock that leases run by: a suspended host or a set clock moves it alone."""
    return time.monotonic(), time.time()


class LeaseWatch:
    """Looks at leases, and knows for how long nobody has."""

    def __init__(self, clocks: Callable[[], tuple[float, float]] = read_clocks) -> None:
        self._clocks = clocks
        self._looked_at = (float("-inf"), float("-inf"))  # by both clocks, with success

    def look(self, services: Services) -> None:
        """Leases that ran out while nobody looked ran out because of us: their workers get time to tell they live."""
        moment = self._clocks()
        unwatched = max(new - old for new, old in zip(moment, self._looked_at, strict=True))
        if unwatched > services.settings.lease_seconds / 2:
            forgive_lost(services)
        else:
            take_back_lost(services)
        self._looked_at = moment


class Sweeper:
    """Sweeps every `sweep_seconds` in a thread, and takes lost leases back more often than that.

    Other threads note when queued runs should start, and remove what was kept long enough: that takes seconds.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._holder = f"{this_process()}:{id(self):x}"[-64:]
        self._watch = LeaseWatch()
        often = min(services.settings.sweep_seconds, _LEASES_EVERY)
        seconds = services.settings.sweep_seconds
        self._loops = [
            Loop(services.database, "sweeper", self._round, every=often),
            Loop(services.database, "expected starts", self._expect_starts, every=seconds),
            Loop(services.database, "housekeeping", self._keep_house, every=seconds),
        ]
        self._expected_every = _EXPECTED_EVERY

    def start(self) -> None:
        """Start the loops."""
        for loop in self._loops:
            loop.start()

    def stop(self) -> None:
        """End after the sweeps that are under way."""
        for loop in self._loops:
            loop.stop()

    def _round(self) -> None:
        seconds = self._services.settings.sweep_seconds
        self._do("leases", min(seconds, _LEASES_EVERY), self._watch.look)
        self._do("sweep", seconds, lambda services: _do_all(services, SWEEPS))

    def _keep_house(self) -> None:
        self._do("housekeeping", _HOUSEKEEPING_EVERY, keep_house)

    def _expect_starts(self) -> None:
        if take_duty(self._services, "expected starts", self._holder, self._expected_every):
            began = time.thread_time()
            expect_starts(self._services)
            self._expected_every = max(_EXPECTED_EVERY, (time.thread_time() - began) / _EXPECTED_SHARE)

    def _do(self, duty: str, every: float, work: Callable[[Services], object]) -> None:
        if take_duty(self._services, duty, self._holder, every):
            work(self._services)


def sweep(services: Services) -> dict[str, int]:
    """Everything that a sweep does, once, now, lost leases first; returns how much of each was done."""
    return _do_all(services, {"lost": take_back_lost, **SWEEPS})


def keep_house(services: Services) -> None:
    """What has to be done now and then: retention, old uploads, old counts."""
    _do_all(services, HOUSEKEEPING)


def _do_all(services: Services, duties: Mapping[str, Callable[[Services], int]]) -> dict[str, int]:
    """Do every duty, however many fail; their errors are raised together at the end."""
    done: dict[str, int] = {}
    failures: list[Exception] = []
    for name, work in duties.items():
        try:
            done[name] = work(services)
        except Exception as error:
            log.exception("a duty of the sweeper failed", extra={"duty": name})
            failures.append(error)
    if failures:
        raise ExceptionGroup(f"of {', '.join(duties)}, some failed", failures)
    return done


def _watch(services: Services) -> int:
    with services.database.writing() as session:
        return watch_conditions(session, services.settings)


def _rehearse(services: Services) -> int:
    with services.database.reading() as session:
        waiting = underway(session)
    return each(services, "rehearsal", waiting, lambda rehearsal_id: go_on(services, rehearsal_id))


def _tell_of_phases(services: Services) -> int:
    with services.database.reading() as session:
        waiting = phases_with_news(session)
    return each(services, "phase", waiting, lambda phase_id: _tell_of_phase(services, phase_id))


def _tell_of_phase(services: Services, phase_id: str) -> int:
    with services.database.writing() as session:
        return tell_of_phase(session, phase_id)


def _publish(services: Services) -> int:
    with services.database.reading() as session:
        waiting = pools_to_publish(session)
    return each(services, "pool", waiting, lambda pool_id: _publish_one(services, pool_id))


def _publish_one(services: Services, pool_id: str) -> int:
    with services.database.writing() as session:
        return int(publish_if_over(session, pool_id))


def _forget_old_rows(services: Services) -> int:
    yesterday = now() - timedelta(days=1)
    with services.database.writing() as session:
        forget_old_hits(session)
        forget_old_requests(session)
        forget_old_rings(session)
        forget_old_troubles(session, yesterday)
        forget_dead_processes(session, yesterday)
        drop_spent_rows(session)
    return 0


def forgive_lost(services: Services) -> int:
    """Give the leases that have run out a moment more; returns how many.

    After an outage of the platform (its database was away, it was restarted) no worker could extend its lease, and
    none of them is to blame: a run that is alive goes on with its worker's next heartbeat.
    """
    with services.database.writing() as session:
        forgiven = session.execute(
            update(Run)
            .where(Run.state.in_(sorted(RUNNING)), Run.lease_expires_at < now())
            .values(lease_expires_at=now() + timedelta(seconds=FORGIVEN_SECONDS))
            .execution_options(synchronize_session=False)
        ).rowcount  # pyright: ignore[reportAttributeAccessIssue]
    if forgiven:
        log.warning("leases ran out while nobody looked", extra={"runs": forgiven})
    return forgiven


def take_back_lost(services: Services) -> int:
    """Take back the runs whose lease has run out; returns how many."""
    with services.database.reading() as session:
        lost = session.scalars(_lost_ids()).all()
    return each(services, "lease", lost, lambda run_id: _take_back(services, run_id))


def _lost_ids() -> Select[str]:
    return select(Run.id).where(Run.state.in_(sorted(RUNNING)), Run.lease_expires_at < now())


def _take_back(services: Services, run_id: str) -> int:
    try:
        with services.database.writing() as session:
            return _take_back_in(session, services, run_id)
    except StaleEpoch:
        return 0  # its worker ended it at this very moment


def _take_back_in(session: Session, services: Services, run_id: str) -> int:
    run = lock_run(session, run_id)
    if run is None or session.scalar(_lost_ids().where(Run.id == run_id)) is None:
        return 0
    log.warning(
        "a lease ran out",
        extra={
            "run_id": run.id,
            "submission_id": run.submission_id,
            "epoch": run.epoch,
            "worker_id": run.worker_id,
        },
    )
    lose(session, services.settings, run)
    return 1


def ring_again(services: Services) -> int:
    """Ring for queued runs that nobody took: those at the head of each queue, as many as its workers can take."""
    settings = services.settings
    moment = now()
    stale = moment - timedelta(seconds=settings.ring_again_seconds)
    waiting = and_(
        Run.state == RunState.QUEUED,
        Run.available_at <= stale,
        Run.queued_at <= stale,
        or_(Run.rung_at.is_(None), Run.rung_at <= stale),
    )
    rung = 0
    with services.database.writing() as session:
        classes = session.scalars(select(Run.hardware_class).where(waiting).distinct()).all()
        for name in classes:
            most = max(count_workers(session, name), 1) * _RINGS_A_WORKER
            runs = session.scalars(
                select(Run).where(waiting, Run.hardware_class == name).order_by(*QUEUE_ORDER).limit(most)
            ).all()
            for run in runs:
                run.rung_at = moment
                put_ring(session, run.id, name)
            rung += len(runs)
    return rung


# Duties by name; none is left out because another fails. Leases have a duty of their own: `LeaseWatch` looks at them.
SWEEPS: dict[str, Callable[[Services], int]] = {
    "rung": ring_again,
    "alerts": _watch,
    "published": _publish,
    "phases": _tell_of_phases,
    "rehearsals": _rehearse,
}
HOUSEKEEPING: dict[str, Callable[[Services], int]] = {
    "uploads": forget_old_uploads,
    "parts": settle_forgotten_parts,
    "retention": collect_garbage,
    "old rows": _forget_old_rows,
}
