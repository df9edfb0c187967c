"""Turns a claimed run into everything that its worker needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.protocols import Protocol, ProtocolError, protocol_from_dict
from anyshot_core.protocols.keys import write_seed
from anyshot_core.wire.jobs import (
    Analyse,
    BlobRef,
    Budget,
    Evaluate,
    Job,
    JobKind,
    Limits,
    MetaTest,
    PackRef,
    Rescore,
    ResultsRef,
    Smoke,
)
from anyshot_platform.artifacts.models import Artifact
from anyshot_platform.artifacts.service import blob_ref
from anyshot_platform.competitions.models import Competition
from anyshot_platform.errors import PlatformError
from anyshot_platform.leagues.evidence import enters_from_scratch
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.pools.models import Pack, PoolPack
from anyshot_platform.reports.models import Report
from anyshot_platform.reports.records import Earlier
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.parts import (
    dataset_of,
    goes_by_dataset,
    run_budget,
    shard_bounds,
    shard_of,
    share_of_dataset,
)
from anyshot_platform.runs.secrets import complete_protocol, secrets_of_run, task_fingerprint
from anyshot_platform.services import Services
from anyshot_platform.sight.logs import shown_logs, smoke_logs
from anyshot_platform.sight.names import hides_training_names
from anyshot_platform.sight.smoke import smoke_pool
from anyshot_platform.submissions.models import Submission


class NotAssignable(PlatformError):
    """The organizers' settings lack something that this run needs: ends it as BAD_SETTINGS."""

    status = 500
    code = "not_assignable"


@dataclass(frozen=True)
class _Case:
    """A run with what its assignment is made from."""

    services: Services
    session: Session
    run: Run
    version: PhaseVersion
    phase: Phase


def make_assignment(services: Services, session: Session, run: Run) -> Job:
    """The assignment of a run that was just claimed; raises `NotAssignable`."""
    version = session.get_one(PhaseVersion, run.phase_version_id)
    case = _Case(services, session, run, version, session.get_one(Phase, run.phase_id))
    return _MAKERS[run.kind](case)


def _evaluate(case: _Case) -> Evaluate:
    return Evaluate(**_tested(case))


def _meta_test(case: _Case) -> MetaTest:
    return MetaTest(**_tested(case), learner=_of_source(case, "learner.bin"))


def _smoke(case: _Case) -> Smoke:
    return Smoke(**_tested(case))


def _rescore(case: _Case) -> Rescore:
    return Rescore(**_scored(case), predictions=_of_source(case, "predictions.parquet"))


def _analyse(case: _Case) -> Analyse:
    report = case.session.scalars(select(Report).where(Report.run_id == case.run.id)).one()
    results, version = _results(case, report), case.version
    if isinstance(report.parameters, Earlier):
        raise NotAssignable("This report was asked for of an earlier release: ask for it again.")
    # A report on a board is computed from its results: no pack has to travel for it.
    pools = (
        (None, None) if results else (version.meta_train_pool_version_id, version.meta_test_pool_version_id)
    )
    train, test = (_packs(case, pool) for pool in pools)
    return Analyse(
        **_common(case), meta_train=train, meta_test=test, results=results, parameters=report.parameters
    )


_MAKERS: dict[JobKind, Callable[[_Case], Job]] = {
    JobKind.EVALUATE: _evaluate,
    JobKind.META_TEST: _meta_test,
    JobKind.SMOKE: _smoke,
    JobKind.SCORE: _rescore,
    JobKind.ANALYSE: _analyse,
}


def _common(case: _Case) -> dict[str, Any]:
    run = case.run
    return {
        "run_id": run.id,
        "epoch": run.epoch,
        "attempt": run.attempt,
        "lease_seconds": case.services.settings.lease_seconds,
        "competition": case.session.get_one(Competition, run.competition_id).slug,
        "phase": case.phase.slug,
        "tasks": case.phase.smoke_tasks if run.kind == JobKind.SMOKE else case.version.tasks,
    }


def _scored(case: _Case) -> dict[str, Any]:
    """What a job whose end is a score says of its submission and its tasks."""
    run, version, common = case.run, case.version, _common(case)
    submission = case.session.get_one(Submission, run.submission_id)
    train_pool, test_pool = _pools(case)
    most = (
        1 if run.kind == JobKind.SMOKE and version.each_dataset else None
    )  # a smoke test, too, is of one dataset
    return common | {
        "submission_id": submission.id,
        "submission_name": f"{submission.team.name} #{submission.number}",
        "run": run.seed_index,
        "submission": blob_ref(case.services, submission.digest, submission.size),
        "meta_train": _packs(case, train_pool)[:most],
        "meta_test": _packs(case, test_pool)[:most],
        "shard": shard_of(run, common["tasks"]),
        "dataset": dataset_of(run),
        **_secrets(run, version),
    }


def _tested(case: _Case) -> dict[str, Any]:
    """What a job that runs a submission says of its sandbox, on top."""
    run, version, phase = case.run, case.version, case.phase
    smoke = run.kind == JobKind.SMOKE
    for_shards = run.shard_count > 1 and not goes_by_dataset(run)
    return _scored(case) | {
        "budget": _budget(case),
        "limits": _limits(version),
        "image": version.image,
        "weights": not enters_from_scratch(case.session, run.submission_id or ""),
        "log_policy": smoke_logs(phase) if smoke else shown_logs(phase, version),
        "isolated_tasks": version.isolated_tasks,
        "hide_dataset_names": not smoke and hides_training_names(phase, version),
        "keep_learner": not smoke and (version.keep_learner or for_shards),
    }


def _pools(case: _Case) -> tuple[str | None, str]:
    """The pool versions to train and to test on; raises `NotAssignable`."""
    if case.run.kind == JobKind.SMOKE:
        public = smoke_pool(case.session, case.phase)
        if public is None:
            raise NotAssignable(
                "The phase's smoke test has no public data: see the smoke test in its settings."
            )
        return public.id, public.id
    if case.version.meta_test_pool_version_id is None:
        raise NotAssignable("The phase has no pool to test on.")
    return case.version.meta_train_pool_version_id, case.version.meta_test_pool_version_id


def _protocol(settings: dict[str, Any]) -> Protocol:
    try:
        return protocol_from_dict(settings)
    except ProtocolError as error:
        raise NotAssignable(f"The phase's task protocol cannot be used: {error}") from error


def _limits(version: PhaseVersion) -> Limits:
    return Limits(
        memory_bytes=version.memory_bytes,
        cpus=version.cpus,
        processes=version.processes,
        scratch_bytes=version.scratch_bytes,
        output_bytes=version.output_bytes,
        gpus=version.gpus,
    )


def _results(case: _Case, report: Report) -> list[ResultsRef]:
    """The tables that a report is computed from."""
    rows, services = report.results.runs if report.results else (), case.services
    return [
        ResultsRef(
            submission=row.submission,
            run=row.run,
            blob=blob_ref(services, row.digest, row.size),
            predictions=blob_ref(services, *row.predictions) if row.predictions else None,
        )
        for row in rows
    ]


def _secrets(run: Run, version: PhaseVersion) -> dict[str, Any]:
    """Protocol, seeds and keys, as far as the job needs them: a re-scoring none for what it runs."""
    found = secrets_of_run(version, run)
    shared = {"train_seed": found.train_seed, "fingerprint": task_fingerprint(version)}
    if run.kind == JobKind.SCORE:
        # Which tasks are of a dataset follows from the tasks' key; otherwise the predictions say all.
        part = write_seed(found.tasks) if goes_by_dataset(run) else 0
        return {"protocol": _protocol(version.protocol), "test_seed": part, **shared}
    return {
        "protocol": _protocol(complete_protocol(version.protocol, found.class_split)),
        "test_seed": write_seed(found.tasks),
        "query_key": found.query_order.hex(),
        **shared,
    }


def _budget(case: _Case) -> Budget:
    run, version = case.run, case.version
    if run.kind == JobKind.SMOKE:
        return Budget(run_seconds=case.phase.smoke_seconds, task_seconds=version.task_seconds)
    seconds, training = run_budget(run), version.meta_train_seconds
    if run.shard_index and run.source_run_id and not goes_by_dataset(run):
        seconds = _share_of_budget(case.session, run, version)
    return Budget(
        run_seconds=seconds,
        meta_train_seconds=training * share_of_dataset(run) if training else None,
        task_seconds=version.task_seconds,
    )


def _share_of_budget(session: Session, run: Run, version: PhaseVersion) -> float:
    """The budget is one for all shards: what the first one left is shared out by tasks, so the sum cannot exceed it."""
    source = session.get_one(Run, run.source_run_id)
    left = version.run_seconds - source.used.participant_seconds
    start, stop = shard_bounds(version.tasks, run.shard_count, run.shard_index or 0)
    first_stop = shard_bounds(version.tasks, run.shard_count, 0)[1]
    return max(left * (stop - start) / (version.tasks - first_stop), 0.001)


def _packs(case: _Case, pool_version_id: str | None) -> list[PackRef]:
    rows = case.session.scalars(
        select(Pack)
        .join(PoolPack, PoolPack.pack_id == Pack.id)
        .where(PoolPack.pool_version_id == pool_version_id)
        .order_by(PoolPack.position)
    )
    return [
        PackRef(name=row.name, domain=row.domain, blob=blob_ref(case.services, row.digest, row.size))
        for row in rows
    ]


def _of_source(case: _Case, name: str) -> BlobRef:
    artifact = case.session.scalars(
        select(Artifact).where(
            Artifact.run_id == (case.run.source_run_id or ""),
            Artifact.name == name,
            Artifact.final,
            Artifact.expired_at.is_(None),
        )
    ).first()
    if artifact is None:
        raise NotAssignable(f"The earlier run's {name} is no longer kept: choose another way of re-scoring.")
    return blob_ref(case.services, artifact.digest, artifact.size)
