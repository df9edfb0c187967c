"""What an attempt hands in: artifacts, then one final word."""

from collections.abc import Sequence

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from anyshot_core.wire.checkpoints import read_name
from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_core.wire.worker_api import ArtifactRef, Complete, Fail, Progress, Usage
from anyshot_platform.foundation.artifacts.models import Artifact, Blob
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.execution.kinds import kind_of
from anyshot_platform.judging.execution.leases import (
    back_off_seconds,
    end_attempt,
    end_cancelled,
    fail_run,
    requeue,
)
from anyshot_platform.judging.execution.settlement import settle
from anyshot_platform.judging.runs.checkpoints import add_checkpoint, words_on_next_attempt
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.records import KEPT_OF_DETAIL, KEPT_OF_MESSAGE, StageTimes
from anyshot_platform.judging.runs.states import RunState, state_of_stage
from anyshot_platform.judging.runs.transitions import write_state
from anyshot_platform.judging.scores.verification import WrongResult
from anyshot_platform.judging.workers.models import Worker
from anyshot_platform.people.alerts.service import open_alert

_ODD_SECONDS = 60.0  # beyond what steps may take, and charged to nobody: operators are told


class UnknownArtifact(Invalid):
    """A name that is not among those agreed, or a file that was not uploaded."""

    code = "unknown_artifact"


def add_artifact(session: Session, run: Run, name: str, digest: str, size: int) -> None:
    """Note a stored file of the run's present attempt, an artifact or a checkpoint; sending it again replaces it."""
    kind = kind_of(run)
    if kind.resumes and (span := read_name(name)) is not None:
        add_checkpoint(session, run, name, span, digest, size)
        return
    if name not in kind.artifacts:
        raise UnknownArtifact(f"“{name}” is no file that such a run hands in.")
    artifact = session.scalars(
        select(Artifact).where(Artifact.run_id == run.id, Artifact.epoch == run.epoch, Artifact.name == name)
    ).one_or_none()
    if artifact is None:
        artifact = Artifact(run_id=run.id, epoch=run.epoch, name=name)
        session.add(artifact)
    artifact.digest, artifact.size = digest, size
    session.flush()


def complete(services: Services, session: Session, run: Run, result: Complete) -> None:
    """The attempt succeeded: score, artifacts and state change together, the state last.

    A result that cannot be true is a failure of ours: the run is tried again, and operators are told.
    """
    _report_odd_time(session, run, result.usage)
    kind = kind_of(run)
    if run.cancel_requested_at is not None and not kind.keeps_late_result:
        # The user's wish came first; a result that crossed it on the way does not count.
        end_cancelled(session, run, "Cancelled.")
        return
    _keep_artifacts(session, run, result.artifacts)
    try:
        kind.accept(session, services.storage, run, result)
    except WrongResult as problem:
        _refuse(services, session, run, result, problem)
        return
    end_attempt(session, run, outcome=Verdict.OK.value)
    write_state(
        session,
        run,
        RunState.FINISHED,
        verdict=Verdict.OK,
        cause=None,
        message="",
        finished_at=now(),
        lease_expires_at=None,
        usage=(usage := kind.usage(session, run, result.usage)),
        provenance=result.provenance,
        evidence=result.evidence,
        seconds_used=usage.participant_seconds,
        tasks_done=kind.tasks(run),
        stage_times=run.times.at(RunState.FINISHED, now()),
    )
    settle(session, run)


def _refuse(services: Services, session: Session, run: Run, result: Complete, problem: WrongResult) -> None:
    refused = (Artifact.run_id == run.id, Artifact.epoch == run.epoch)
    session.execute(
        update(Artifact).where(*refused).values(final=False)
    )  # another attempt's files will count
    worker = session.get_one(Worker, run.worker_id)
    words = f"Worker {worker.name} sent a result of run {run.id} that cannot be true: {problem}"
    open_alert(session, "wrong_result", worker.id, words)
    message = "The result that the worker sent cannot be right; this is not your fault."
    failure = Fail(
        epoch=run.epoch,
        verdict=Verdict.TASK_SERVER_BUG,
        message=message,
        private=str(problem),
        usage=result.usage,
        provenance=result.provenance,
    )
    fail(session, services.settings, run, failure)


def fail(session: Session, settings: PlatformSettings, run: Run, failure: Fail) -> None:
    """The attempt failed: for good where it is the participant's or organizer's doing, else tried again."""
    _report_odd_time(session, run, failure.usage)
    _keep_artifacts(session, run, failure.artifacts)
    if failure.verdict == Verdict.OK:
        raise Invalid("A failure cannot have the verdict OK.")
    verdict, cause = failure.verdict, failure.verdict.cause
    if verdict == Verdict.CANCELLED or run.cancel_requested_at is not None:
        end_cancelled(session, run, "Cancelled.")
        return
    if cause in (Cause.INFRASTRUCTURE, Cause.UNCLEAR) and _try_again(session, settings, run, failure):
        return
    if cause == Cause.UNCLEAR:
        verdict = Verdict.RUNTIME_ERROR
    if cause == Cause.INFRASTRUCTURE:
        words = f"Run {run.id} failed for good: {verdict}: {failure.message}"
        open_alert(session, "run_lost", run.id, words)
    fail_run(
        session,
        run,
        verdict,
        failure.message[:KEPT_OF_MESSAGE],
        detail=failure.detail[:KEPT_OF_DETAIL],
        private=failure.private[:KEPT_OF_DETAIL],
        quarantined=run.workers_lost >= 2,
        task_index=failure.task_index,
        task_ways=failure.ways,
        task_shots=failure.shots,
        before_training=failure.before_training,
        usage=failure.usage,
        provenance=failure.provenance,
        **_reached(run, failure.progress),
        seconds_used=failure.usage.participant_seconds,
    )


def _report_odd_time(session: Session, run: Run, usage: Usage) -> None:
    """Alert operators where much time of a box was charged to nobody: its machine is slow, or code found a gap."""
    if sum(usage.odd_seconds.values()) <= _ODD_SECONDS:
        return
    steps = ", ".join(f"{step} {seconds:.0f} s" for step, seconds in sorted(usage.odd_seconds.items()))
    words = f"Run {run.id} took longer in its sandbox than it may, and nobody was charged for it: {steps}."
    open_alert(session, "odd_time", run.id, words)


def _reached(run: Run, progress: Progress | None) -> dict[str, StageTimes | int]:
    """Where the attempt stood when it failed, as it says itself: heartbeats come too late for quick failures."""
    if progress is None:
        return {}
    return {
        "stage_times": run.times.at(state_of_stage(progress.stage), now()),
        "tasks_done": progress.tasks_done,
    }


def _try_again(session: Session, settings: PlatformSettings, run: Run, failure: Fail) -> bool:
    unclear = failure.verdict.cause == Cause.UNCLEAR
    column = Run.unclear_failures if unclear else Run.infrastructure_failures
    session.execute(
        update(Run)
        .where(Run.id == run.id)
        .values({column: column + 1})
        .execution_options(synchronize_session=False)
    )
    session.refresh(run)
    if unclear and run.unclear_failures > 1:
        return False
    if not unclear and run.infrastructure_failures >= settings.infrastructure_attempts:
        return False
    requeue(
        session,
        settings,
        run,
        outcome=failure.verdict.value,
        message=f"{failure.message} It will be tried again.{words_on_next_attempt(session, run)}"[:500],
        back_off=back_off_seconds(settings, run.infrastructure_failures + run.unclear_failures),
    )
    return True


def _keep_artifacts(session: Session, run: Run, named: Sequence[ArtifactRef]) -> None:
    """Mark the artifacts that the final word names; raises `UnknownArtifact` if one was not uploaded."""
    rows = session.scalars(
        select(Artifact).where(Artifact.run_id == run.id, Artifact.epoch == run.epoch)
    ).all()
    uploaded = {(row.name, row.digest): row for row in rows}
    for reference in named:
        row = uploaded.get((reference.name, reference.digest))
        if row is None or session.get(Blob, reference.digest) is None:
            raise UnknownArtifact(f"“{reference.name}” was not uploaded by this attempt.")
        row.final = True
    session.flush()
