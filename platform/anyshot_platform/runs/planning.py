"""Which runs a submission needs under a phase version, and their queueing."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.database import now
from anyshot_platform.errors import Conflict
from anyshot_platform.phases.models import PhaseVersion
from anyshot_platform.queue.outbox import put_ring
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.states import RunState
from anyshot_platform.submissions.models import Submission
from anyshot_platform.submissions.states import SubmissionKind, SubmissionStatus
from anyshot_starting_kit.wire.worker_api import JobKind


class NotEvaluable(Conflict):
    """The phase version lacks what an evaluation needs."""

    code = "not_evaluable"


@dataclass(frozen=True)
class Urgency:
    """How much a run matters: see `queue.priorities`."""

    priority: int
    bulk: bool = False


def queue_runs(
    session: Session, submission: Submission, version: PhaseVersion, urgency: Urgency
) -> list[Run]:
    """Create and queue the runs of a submission under a version, one a pair of seeds.

    Called again (a re-run), it makes a new generation; the highest one counts. Where the phase splits meta-testing
    into shards, the first shard meta-trains and is queued; the others wait for its learner.
    """
    require_evaluable(version)
    generation = next_generation(session, submission, version)
    runs = [
        run
        for seed_index in range(1 if submission.kind == SubmissionKind.SMOKE else version.seeded_runs)
        for run in _runs_of_seed(submission, version, urgency, generation, seed_index)
    ]
    session.add_all(runs)
    session.flush()
    for run in runs:
        if run.state == RunState.QUEUED:
            put_ring(session, run.id, run.hardware_class)
    if version.number == submission.phase.live_version:
        submission.status = SubmissionStatus.QUEUED
        submission.verdict = submission.cause = submission.finished_at = None
    return runs


def queue_from_source(
    session: Session, source: Run, version: PhaseVersion, kind: JobKind, urgency: Urgency
) -> Run:
    """Queue a re-scoring of a finished run: from its predictions (SCORE) or its saved learner (META_TEST).

    A shard's predictions are scored again as that shard; the sweeper puts the shards together as it did before.
    """
    shard = source.shard_index if kind == JobKind.SCORE else None
    run = Run(
        kind=kind,
        competition_id=source.competition_id,
        phase_id=source.phase_id,
        phase_version_id=version.id,
        submission_id=source.submission_id,
        team_id=source.team_id,
        seed_index=source.seed_index,
        shard_index=shard,
        shard_count=1 if shard is None else source.shard_count,
        source_run_id=source.id,
        priority=urgency.priority,
        bulk=urgency.bulk,
        hardware_class=version.hardware_class,
        image=version.image,
        memory_bytes=version.memory_bytes,
        gpus=version.gpus,
        tasks_total=version.tasks if shard is None else source.tasks_total,
    )
    session.add(run)
    session.flush()
    put_ring(session, run.id, run.hardware_class)
    return run


def require_evaluable(version: PhaseVersion) -> None:
    """Raise `NotEvaluable` unless the version has data and as many training as test seeds."""
    if version.meta_test_pool_version_id is None:
        raise NotEvaluable("This phase has no meta-test pool yet.")
    if not version.test_seeds or len(version.test_seeds) != len(version.train_seeds):
        raise NotEvaluable("This phase has no seeds yet.")


def next_generation(session: Session, submission: Submission, version: PhaseVersion) -> int:
    """The number of the next set of runs of a submission under a version, from 0."""
    last = session.scalar(
        select(func.max(Run.generation)).where(
            Run.submission_id == submission.id, Run.phase_version_id == version.id
        )
    )
    return 0 if last is None else last + 1


def shard_bounds(tasks: int, shards: int, index: int) -> tuple[int, int]:
    """The task indices [start, stop) of a shard; sizes differ by at most one."""
    return tasks * index // shards, tasks * (index + 1) // shards


def _runs_of_seed(
    submission: Submission, version: PhaseVersion, urgency: Urgency, generation: int, seed_index: int
) -> list[Run]:
    smoke = submission.kind == SubmissionKind.SMOKE
    tasks = submission.phase.smoke_tasks if smoke else version.tasks
    shards = 1 if smoke else max(1, min(version.shards, tasks))
    moment = now()

    def make(shard: int) -> Run:
        start, stop = shard_bounds(tasks, shards, shard)
        first = shard == 0
        kind = JobKind.SMOKE if smoke else JobKind.EVALUATE
        return Run(
            kind=kind if first else JobKind.META_TEST,
            competition_id=submission.competition_id,
            phase_id=submission.phase_id,
            phase_version_id=version.id,
            submission_id=submission.id,
            team_id=submission.team_id,
            requested_by=submission.user_id,
            seed_index=seed_index,
            shard_index=None if shards == 1 else shard,
            shard_count=shards,
            generation=generation,
            state=RunState.QUEUED if first else RunState.WAITING,
            priority=urgency.priority,
            bulk=urgency.bulk,
            hardware_class=version.hardware_class,
            image=version.image,
            memory_bytes=version.memory_bytes,
            gpus=version.gpus,
            tasks_total=stop - start,
            created_at=moment,
            queued_at=moment,
            available_at=moment,
        )

    runs = [make(shard) for shard in range(shards)]
    return runs
