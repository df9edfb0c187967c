"""Which runs a submission needs under a phase version, and their queueing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_core.wire.worker_api import JobKind
from anyshot_platform.database import now
from anyshot_platform.errors import Conflict
from anyshot_platform.phases.models import PhaseVersion
from anyshot_platform.queue.outbox import put_ring
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.parts import count_parts, count_tasks, goes_by_dataset
from anyshot_platform.runs.secrets import secrets_of
from anyshot_platform.runs.states import RunState
from anyshot_platform.submissions.models import Submission
from anyshot_platform.submissions.states import SubmissionKind, SubmissionStatus


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
    into shards, the first shard meta-trains and is queued; the others wait for its learner. Where it goes dataset by
    dataset, each dataset's part is queued.
    """
    require_evaluable(version)
    generation = next_generation(session, submission, version)
    runs = [
        run
        for seed_index in range(1 if submission.kind == SubmissionKind.SMOKE else version.seeded_runs)
        for run in plan_seed(session, submission, version, urgency, generation, seed_index)
    ]
    add_to_queue(session, submission, version, runs)
    return runs


def add_to_queue(
    session: Session, submission: Submission, version: PhaseVersion, runs: Sequence[Run]
) -> None:
    """Queue planned runs; under the live version their submission waits for them."""
    session.add_all(runs)
    session.flush()
    for run in runs:
        if run.state == RunState.QUEUED:
            put_ring(session, run.id, run.hardware_class)
    if version.number == submission.phase.live_version:
        submission.status = SubmissionStatus.QUEUED
        submission.verdict = submission.cause = submission.finished_at = None


def queue_from_source(
    session: Session, source: Run, version: PhaseVersion, kind: JobKind, urgency: Urgency
) -> Run:
    """Queue a re-scoring of a finished run: from its predictions (SCORE) or its saved learner (META_TEST).

    A part is scored again as that part, and so is a dataset's tested again; the sweeper puts the parts together as it
    did before. Of other shards only the first has a learner, from which the whole is tested: see `has_source`. A run
    that was re-scored itself leads to the one that it was re-scored from: see `origin_of`.
    """
    shard = source.shard_index if kind == JobKind.SCORE or version.each_dataset else None
    parts = 1 if shard is None else source.shard_count
    run = Run(
        kind=kind,
        competition_id=source.competition_id,
        phase_id=source.phase_id,
        phase_version_id=version.id,
        submission_id=source.submission_id,
        team_id=source.team_id,
        seed_index=source.seed_index,
        shard_index=shard,
        shard_count=parts,
        source_run_id=origin_of(session, source, kind).id,
        priority=urgency.priority,
        bulk=urgency.bulk,
        **demands(version),
        tasks_total=count_tasks(version, secrets_of(version).tasks(source.seed_index), parts, shard or 0),
    )
    session.add(run)
    session.flush()
    put_ring(session, run.id, run.hardware_class)
    return run


def demands(version: PhaseVersion) -> dict[str, Any]:
    """What a run needs of a machine under this version, as fields of `Run`."""
    return {
        "hardware_class": version.hardware_class,
        "image": version.image,
        "memory_bytes": version.memory_bytes,
        "gpus": version.gpus,
    }


def has_source(run: Run, kind: JobKind) -> bool:
    """Whether a finished run holds what a re-scoring of this kind starts from."""
    return kind == JobKind.SCORE or not run.shard_index or goes_by_dataset(run)


def origin_of(session: Session, run: Run, kind: JobKind) -> Run:
    """The run that keeps what a re-scoring of `run` starts from.

    A re-scoring keeps no predictions of its own, and a repeated meta-test no learner: both have those of their source.
    """
    borrowed = (JobKind.SCORE,) if kind == JobKind.SCORE else (JobKind.SCORE, JobKind.META_TEST)
    while run.kind in borrowed and run.source_run_id is not None:
        run = session.get_one(Run, run.source_run_id)
    return run


def require_evaluable(version: PhaseVersion) -> None:
    """Raise `NotEvaluable` unless the version has data and training seeds, and as many test seeds or none."""
    if version.meta_test_pool_version_id is None:
        raise NotEvaluable("This phase has no meta-test pool yet.")
    if not version.train_seeds or len(version.test_seeds) not in (0, len(version.train_seeds)):
        raise NotEvaluable("This phase has no seeds yet.")


def next_generation(session: Session, submission: Submission, version: PhaseVersion) -> int:
    """The number of the next set of runs of a submission under a version, from 0."""
    last = session.scalar(
        select(func.max(Run.generation)).where(
            Run.submission_id == submission.id, Run.phase_version_id == version.id
        )
    )
    return 0 if last is None else last + 1


def plan_seed(
    session: Session,
    submission: Submission,
    version: PhaseVersion,
    urgency: Urgency,
    generation: int,
    seed_index: int,
) -> list[Run]:
    """The runs of one seed, not queued yet: one, or one for each part."""
    smoke = submission.kind == SubmissionKind.SMOKE
    shards = 1 if smoke else count_parts(session, version)
    test_seed = secrets_of(version).tasks(seed_index)
    moment = now()

    def make(shard: int) -> Run:
        tasks = submission.phase.smoke_tasks if smoke else count_tasks(version, test_seed, shards, shard)
        first = shard == 0 or version.each_dataset
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
            **demands(version),
            tasks_total=tasks,
            created_at=moment,
            queued_at=moment,
            available_at=moment,
        )

    return [make(shard) for shard in range(shards)]
