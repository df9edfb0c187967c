"""What users do to runs: cancel."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Conflict
from anyshot_platform.judging.execution.settlement import settle
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import ENDED, RUNNING, RunState
from anyshot_platform.judging.runs.transitions import write_state
from anyshot_platform.judging.submissions.models import Submission


class NothingToCancel(Conflict):
    """All runs have ended already."""

    code = "nothing_to_cancel"


def list_runs(session: Session, submission: Submission) -> Sequence[Run]:
    """All runs of a submission, the newest generation first."""
    return session.scalars(
        select(Run)
        .options(joinedload(Run.phase_version))
        .where(Run.submission_id == submission.id)
        .order_by(Run.generation.desc(), Run.phase_version_id, Run.seed_index, Run.shard_index)
    ).all()


def newest_runs(runs: Sequence[Run], version_id: str | None) -> list[Run]:
    """The runs that count: of the version (or of any, where it has none), the newest generation."""
    of_version = [run for run in runs if run.phase_version_id == version_id] or list(runs)
    newest = max((run.generation for run in of_version), default=0)
    return sorted(
        (run for run in of_version if run.generation == newest),
        key=lambda run: (run.seed_index, run.shard_index or 0),
    )


def cancel_submission(session: Session, submission: Submission, *, by: str) -> int:
    """Cancel all runs of a submission that have not ended; raises `NothingToCancel` if there are none.

    What is queued ends at once; what is running is told by its next heartbeat, within two seconds.
    """
    runs = [run for run in list_runs(session, submission) if run.state not in ENDED]
    if not runs:
        raise NothingToCancel("This submission has ended already.")
    for run in runs:
        cancel_run(session, run, by=by)
    return len(runs)


def cancel_run(session: Session, run: Run, *, by: str) -> None:
    """Cancel one run, or ask its worker to."""
    if run.state in RUNNING:
        run.cancel_requested_at = run.cancel_requested_at or now()
        run.cancelled_by = run.cancelled_by or by
        session.flush()
        return
    if run.state in ENDED:
        return
    write_state(
        session,
        run,
        RunState.CANCELLED,
        cancelled_by=by,
        verdict=Verdict.CANCELLED,
        cause=Cause.USER,
        finished_at=now(),
        message="Cancelled before it was started.",
    )
    settle(session, run)
