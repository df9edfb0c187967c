"""Queues the runs that a submission needs under a phase's version."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.background.outbox import put_ring
from anyshot_platform.judging.execution.kinds import DerivedRun, Planning, starting_kind
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.planning import Urgency, next_generation, require_evaluable
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionStatus


def queue_runs(
    session: Session,
    submission: Submission,
    version: PhaseVersion,
    urgency: Urgency,
    seeds: int | None = None,
) -> list[Run]:
    """Create and queue the runs of a submission under a version, as its kind plans them.

    Called again (a re-run), it makes a new generation; the highest one counts. Raises `NotEvaluable`.
    """
    require_evaluable(version)
    generation = next_generation(session, submission, version)
    runs = starting_kind(submission).plan(Planning(session, submission, version, urgency, generation, seeds))
    add_to_queue(session, submission, version, runs)
    return runs


def add_to_queue(
    session: Session, submission: Submission, version: PhaseVersion, runs: Sequence[Run]
) -> None:
    """Queue planned runs; under the live version their submission waits for them."""
    enqueue(session, runs)
    if version.number == submission.phase.live_version:
        submission.status = SubmissionStatus.QUEUED
        submission.verdict = submission.cause = submission.finished_at = None


def queue_derived(
    session: Session, kind: DerivedRun, source: Run, version: PhaseVersion, urgency: Urgency
) -> Run:
    """Queue a run that starts from what a finished one has kept."""
    run = kind.plan_from(session, source, version, urgency)
    enqueue(session, [run])
    return run


def enqueue(session: Session, runs: Sequence[Run]) -> None:
    """Write planned runs, and ring for those that wait for nothing else."""
    session.add_all(runs)
    session.flush()
    for run in runs:
        if run.state == RunState.QUEUED:
            put_ring(session, run.id, run.hardware_class)
