"""Workers of other releases: which get work, and what becomes of a job that one of them cannot read."""

from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_core.wire.message import API_VERSION, OLDEST_WORKER
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import WorkerInfo
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.execution.leases import end_cancelled, fail_run, requeue
from anyshot_platform.judging.execution.scheduling import TOO_OLD, UNREADABLE
from anyshot_platform.judging.runs.models import Attempt, Run
from anyshot_platform.judging.workers.models import Worker
from anyshot_platform.people.alerts.service import open_alert

PATIENCE = timedelta(days=1)  # time for the operators to upgrade a worker, before a run is given up


def is_too_old(worker: WorkerInfo) -> bool:
    """Whether a worker is of a release that jobs are not written for any more."""
    return worker.version < OLDEST_WORKER


def refuse(session: Session, worker: Worker, info: WorkerInfo) -> str:
    """Tell the operators of a worker that is too old; returns the words for its own log."""
    words = words_for_too_old(info)
    open_alert(session, TOO_OLD, worker.id, words)
    return words


def words_for_too_old(worker: WorkerInfo) -> str:
    """Why this worker gets no work, and what to do."""
    release = worker.release or "an unknown release"
    return (
        f"Worker {worker.name} ({release}, API version {worker.version}) is too old for this "
        f"site, which has API version {API_VERSION} and gives work to workers from version "
        f"{OLDEST_WORKER} on: upgrade it."
    )


def return_unreadable(session: Session, settings: PlatformSettings, run: Run, problem: str) -> None:
    """A worker cannot read a job: our fault. Queued at once for another one.

    Given up only when no worker could read it for `PATIENCE`: a site whose workers are upgraded one by one loses none.
    """
    worker = session.get(Worker, run.worker_id)
    assert worker is not None  # a run that is held has one
    words = f"Worker {worker.name} cannot read run {run.id}: {problem}. Upgrade it."
    open_alert(session, UNREADABLE, worker.id, words)
    if run.cancel_requested_at is not None:
        end_cancelled(session, run, "Cancelled.")
    elif now() - _first_given_back(session, run) < PATIENCE:
        words = "The worker is of an older release; another one takes over."
        requeue(session, settings, run, outcome=UNREADABLE, message=words)
    else:
        words = "No worker of this site can read what this run needs; this is not your fault."
        fail_run(session, run, Verdict.TASK_SERVER_BUG, words, private=problem)


def _first_given_back(session: Session, run: Run) -> datetime:
    """When a worker first said that it cannot read the run; now, if none did before."""
    told = select(func.min(Attempt.ended_at)).where(Attempt.run_id == run.id, Attempt.outcome == UNREADABLE)
    return session.scalar(told) or now()
