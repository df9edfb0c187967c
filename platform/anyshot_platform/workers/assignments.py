"""Turns a claimed run into everything that its worker needs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.artifacts.models import Artifact
from anyshot_platform.artifacts.service import blob_ref
from anyshot_platform.competitions.models import Competition
from anyshot_platform.errors import PlatformError
from anyshot_platform.leagues.evidence import enters_from_scratch
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.phases.secrets import complete_protocol, secrets_of_run, task_fingerprint
from anyshot_platform.phases.smoke import smoke_pool
from anyshot_platform.pools.models import Pack, PoolPack
from anyshot_platform.reports.models import Report
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.parts import (
    dataset_of,
    goes_by_dataset,
    run_budget,
    shard_bounds,
    shard_of,
    share_of_dataset,
)
from anyshot_platform.sight.logs import shown_logs, smoke_logs
from anyshot_platform.sight.names import hides_training_names
from anyshot_platform.submissions.models import Submission
from anyshot_platform.web.services import Services
from anyshot_starting_kit.protocols.keys import write_seed
from anyshot_starting_kit.wire.worker_api import (
    Assignment,
    BlobRef,
    Budget,
    JobKind,
    Limits,
    PackRef,
    ResultsRef,
)


class NotAssignable(PlatformError):
    """The organizers' settings lack something that this run needs: ends it as BAD_SETTINGS."""

    status = 500
    code = "not_assignable"


def make_assignment(services: Services, session: Session, run: Run) -> Assignment:
    """The assignment of a run that was just claimed; raises `NotAssignable`."""
    version = session.get_one(PhaseVersion, run.phase_version_id)
    phase = session.get_one(Phase, run.phase_id)
    submission = session.get(Submission, run.submission_id) if run.submission_id else None
    smoke = run.kind == JobKind.SMOKE
    public = smoke_pool(session, phase) if smoke else None
    if smoke and public is None:
        raise NotAssignable("The phase's smoke test has no public data: see the smoke test in its settings.")
    test_pool = public.id if public else version.meta_test_pool_version_id
    if run.kind != JobKind.ANALYSE and test_pool is None:
        raise NotAssignable("The phase has no pool to test on.")
    train_pool = public.id if public else version.meta_train_pool_version_id
    results = _results(services, session, run)
    tasks = phase.smoke_tasks if smoke else version.tasks
    most = 1 if smoke and version.each_dataset else None  # packs: a smoke test, too, is of one dataset
    return Assignment(
        kind=run.kind,
        run_id=run.id,
        epoch=run.epoch,
        attempt=run.attempt,
        lease_seconds=services.settings.lease_seconds,
        competition=session.get_one(Competition, run.competition_id).slug,
        phase=phase.slug,
        submission_id=run.submission_id,
        submission_name=f"{submission.team.name} #{submission.number}" if submission else "",
        run=run.seed_index,
        submission=blob_ref(services, submission.digest, submission.size) if submission else None,
        # A report on a board is computed from its results: no pack has to travel for it.
        meta_train=[] if results else _packs(services, session, train_pool)[:most],
        meta_test=[] if results else _packs(services, session, test_pool)[:most],
        tasks=tasks,
        shard=shard_of(run, tasks),
        dataset=dataset_of(run),
        **_secrets(run, version),
        budget=_budget(session, run, version, phase),
        limits=Limits(
            memory_bytes=version.memory_bytes,
            cpus=version.cpus,
            processes=version.processes,
            scratch_bytes=version.scratch_bytes,
            output_bytes=version.output_bytes,
            gpus=version.gpus,
        ),
        image=version.image,
        weights=submission is None or not enters_from_scratch(session, submission.id),
        log_policy=smoke_logs(phase) if smoke else shown_logs(phase, version),
        isolated_tasks=version.isolated_tasks,
        hide_dataset_names=not smoke and hides_training_names(phase, version),
        keep_learner=not smoke
        and (version.keep_learner or (run.shard_count > 1 and not goes_by_dataset(run))),
        learner=_of_source(services, session, run, "learner.bin") if run.kind == JobKind.META_TEST else None,
        predictions=_of_source(services, session, run, "predictions.parquet")
        if run.kind == JobKind.SCORE
        else None,
        results=results,
        parameters={key: value for key, value in run.parameters.items() if key != "result"},
    )


def _results(services: Services, session: Session, run: Run) -> list[ResultsRef]:
    """The tables that a report is computed from."""
    if run.kind != JobKind.ANALYSE:
        return []
    report = session.scalars(select(Report).where(Report.run_id == run.id)).one_or_none()
    rows = report.results.get("runs", []) if report else []
    return [
        ResultsRef(
            submission=row["submission"],
            run=row["run"],
            blob=blob_ref(services, row["digest"], row["size"]),
            predictions=blob_ref(services, *row["predictions"]) if row.get("predictions") else None,
        )
        for row in rows
    ]


def _secrets(run: Run, version: PhaseVersion) -> dict[str, Any]:
    """Protocol, seeds and keys, as far as the job needs them: a report none, a re-scoring none for what it runs."""
    if run.kind == JobKind.ANALYSE:
        return {"protocol": version.protocol, "train_seed": 0, "test_seed": 0}
    found = secrets_of_run(version, run)
    shared = {"train_seed": found.train_seed, "fingerprint": task_fingerprint(version)}
    if run.kind == JobKind.SCORE:
        # Which tasks are of a dataset follows from the tasks' key; otherwise the predictions say all.
        part = write_seed(found.tasks) if goes_by_dataset(run) else 0
        return {"protocol": version.protocol, "test_seed": part, **shared}
    return {
        "protocol": complete_protocol(version.protocol, found.class_split),
        "test_seed": write_seed(found.tasks),
        "query_key": found.query_order.hex(),
        **shared,
    }


def _budget(session: Session, run: Run, version: PhaseVersion, phase: Phase) -> Budget | None:
    if run.kind in (JobKind.SCORE, JobKind.ANALYSE):
        return None
    if run.kind == JobKind.SMOKE:
        return Budget(run_seconds=phase.smoke_seconds, task_seconds=version.task_seconds)
    seconds, training = run_budget(run), version.meta_train_seconds
    if run.shard_index and run.source_run_id and not goes_by_dataset(run):
        seconds = _share_of_budget(session, run, version)
    return Budget(
        run_seconds=seconds,
        meta_train_seconds=training * share_of_dataset(run) if training else None,
        task_seconds=version.task_seconds,
    )


def _share_of_budget(session: Session, run: Run, version: PhaseVersion) -> float:
    """The budget is one for all shards: what the first one left is shared out by tasks, so the sum cannot exceed it."""
    source = session.get_one(Run, run.source_run_id)
    left = version.run_seconds - float(source.usage.get("participant_seconds", 0.0))
    start, stop = shard_bounds(version.tasks, run.shard_count, run.shard_index or 0)
    first_stop = shard_bounds(version.tasks, run.shard_count, 0)[1]
    return max(left * (stop - start) / (version.tasks - first_stop), 0.001)


def _packs(services: Services, session: Session, pool_version_id: str | None) -> list[PackRef]:
    rows = session.scalars(
        select(Pack)
        .join(PoolPack, PoolPack.pack_id == Pack.id)
        .where(PoolPack.pool_version_id == pool_version_id)
        .order_by(PoolPack.position)
    )
    return [
        PackRef(name=row.name, domain=row.domain, blob=blob_ref(services, row.digest, row.size))
        for row in rows
    ]


def _of_source(services: Services, session: Session, run: Run, name: str) -> BlobRef:
    artifact = session.scalars(
        select(Artifact).where(
            Artifact.run_id == (run.source_run_id or ""),
            Artifact.name == name,
            Artifact.final,
            Artifact.expired_at.is_(None),
        )
    ).first()
    if artifact is None:
        raise NotAssignable(f"The earlier run's {name} is no longer kept: choose another way of re-scoring.")
    return blob_ref(services, artifact.digest, artifact.size)
