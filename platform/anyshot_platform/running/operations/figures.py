"""The site's figures out of the database, as metrics: queues, runs, workers, storage, alerts."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_core.wire.verdicts import Verdict
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.artifacts.models import Blob
from anyshot_platform.foundation.background.models import OutboxRing
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.runs.models import Attempt, Run
from anyshot_platform.judging.runs.states import RUNNING, RunState
from anyshot_platform.judging.workers.images import count_workers
from anyshot_platform.judging.workers.models import Worker
from anyshot_platform.people.alerts.models import Alert
from anyshot_platform.people.notifications.service import due_emails
from anyshot_platform.running.operations.dead_letters import count_by_kind


def collect_figures(session: Session) -> CollectorRegistry:
    """A registry filled with the figures of this moment."""
    registry = CollectorRegistry()
    registry.register(_Totals(_count_ended(session), _count_lost(session)))
    moment = now()

    queued = Gauge("anyshot_queued_runs", "Runs in the queue", ["hardware_class"], registry=registry)
    oldest = Gauge(
        "anyshot_oldest_queued_seconds", "Age of the oldest run", ["hardware_class"], registry=registry
    )
    known = select(Worker.hardware_class).union(select(PhaseVersion.hardware_class))
    for name in session.scalars(
        known
    ):  # what scales workers reads 0 from an empty queue, and nothing from a missing one
        queued.labels(name).set(0)
    for name, count, since in session.execute(
        select(Run.hardware_class, func.count(Run.id), func.min(Run.queued_at))
        .where(Run.state == RunState.QUEUED)
        .group_by(Run.hardware_class)
    ):
        queued.labels(name).set(count)
        oldest.labels(name).set((moment - since.replace(tzinfo=since.tzinfo or UTC)).total_seconds())

    running = Gauge("anyshot_running_runs", "Runs that a worker has", ["state"], registry=registry)
    for state, count in session.execute(
        select(Run.state, func.count(Run.id)).where(Run.state.in_(sorted(RUNNING))).group_by(Run.state)
    ):
        running.labels(state.value).set(count)

    workers = Gauge("anyshot_workers", "Workers that take runs", ["hardware_class"], registry=registry)
    for name in session.scalars(select(Worker.hardware_class).distinct()):
        workers.labels(name).set(count_workers(session, name))

    Gauge("anyshot_stored_bytes", "Bytes in the storage", registry=registry).set(
        float(session.scalar(select(func.coalesce(func.sum(Blob.size), 0))) or 0)
    )
    Gauge("anyshot_unsent_rings", "Rings in the outbox", registry=registry).set(
        session.scalar(select(func.count(OutboxRing.id)).where(OutboxRing.sent_at.is_(None))) or 0
    )
    waiting, due_since = due_emails(session)
    Gauge("anyshot_waiting_emails", "E-mails that are due and not sent", registry=registry).set(waiting)
    Gauge("anyshot_oldest_email_seconds", "Time since the oldest of them is due", registry=registry).set(
        (moment - due_since).total_seconds() if due_since else 0
    )
    aside = Gauge("anyshot_set_aside", "What was tried too often", ["kind"], registry=registry)
    for kind, count in count_by_kind(session).items():
        aside.labels(kind).set(count)
    Gauge("anyshot_open_alerts", "Alerts that are open", registry=registry).set(
        session.scalar(select(func.count(Alert.id)).where(Alert.until.is_(None))) or 0
    )
    return registry


@dataclass(frozen=True, eq=False)
class _Totals(Collector):
    """What only grows, counted over all processes: a run's end is written by the web service or by the scheduler."""

    ended: dict[Verdict, int]
    lost: int

    def collect(self) -> Iterator[CounterMetricFamily]:
        """The totals as counters."""
        ended = CounterMetricFamily("anyshot_runs_ended", "Runs that ended, by verdict", labels=["verdict"])
        for verdict, count in self.ended.items():
            ended.add_metric([verdict.value], count)
        yield ended
        yield CounterMetricFamily("anyshot_leases_lost", "Leases that ran out", value=self.lost)


def _count_ended(session: Session) -> dict[Verdict, int]:
    query = select(Run.verdict, func.count()).where(Run.verdict.is_not(None)).group_by(Run.verdict)
    return {verdict: count for verdict, count in session.execute(query) if verdict is not None}


def _count_lost(session: Session) -> int:
    query = select(func.count()).select_from(Attempt).where(Attempt.outcome == Verdict.WORKER_LOST.value)
    return session.scalar(query) or 0
