"""Meta-train and meta-test a submission in a sandbox, and score it outside."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from anyshot_core.taskserver.job import (
    Failure,
    Hooks,
    JobOutcome,
    LogLine,
    OutputCaps,
    ServerProgress,
    TaskServerJob,
)
from anyshot_core.taskserver.joined import serve_parts
from anyshot_core.taskserver.scores import collect, put_together
from anyshot_core.taskserver.server import serve, serve_isolated
from anyshot_core.taskserver.tasks import PoolTasks
from anyshot_core.wire.evidence import Evidence
from anyshot_core.wire.jobs import MetaTest, Smoke, Tested
from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_core.wire.worker_api import (
    Complete,
    PartFailure,
    PlatformStep,
    Progress,
    Provenance,
    Stage,
    Usage,
)
from anyshot_scoring.predictions import Predictions
from anyshot_scoring.summary import RunSummary
from anyshot_worker import evidence
from anyshot_worker.announcement import processor_name
from anyshot_worker.attempt import AttemptContext, Failed
from anyshot_worker.exporting import export, exports_of
from anyshot_worker.materials import BadAssignment, Materials, gather_materials, part_of, tested_packs
from anyshot_worker.sandbox import OpenBox
from anyshot_worker.scoring import score_and_keep

LEARNER = "learner.bin"
SMOKE_ITEMS = 3  # tasks or batches that a generator yields a call in a trial run


def evaluate(attempt: AttemptContext[Tested]) -> Complete:
    """Everything from the claim to the message that completes the run."""
    attempt.report_stage(Stage.PREPARING, "Fetching the submission and the datasets")
    with attempt.step(PlatformStep.PREPARE):
        materials = gather_materials(attempt.assignment, attempt.files)
    found = _inspect(attempt, materials)
    parts = _parts(attempt, materials)
    job = _job(attempt, materials, parts[0])
    outcomes = serve_parts(lambda joined: _run(attempt, materials, joined), job, parts)
    _keep_logger_tables(attempt, outcomes[0])
    failures = _require_answers(attempt, outcomes)
    summary = _score(attempt, parts, outcomes)
    export(attempt, job, parts[0], outcomes[0], lambda: _open_box(attempt).channel)
    attempt.upload("log.txt", attempt.log.close())
    done = Complete(
        epoch=attempt.assignment.epoch,
        summary=summary,
        artifacts=attempt.artifacts,
        usage=attempt.use(),
        provenance=attempt.provenance,
        evidence=found,
    )
    return done.model_copy(update={"failures": failures}) if failures else done


def _require_answers(attempt: AttemptContext[Tested], outcomes: Sequence[JobOutcome]) -> list[PartFailure]:
    """Why parts failed. Raises `Failed` where none was answered, or one failed for a reason that is not the code's."""
    failures = [one.failure for one in outcomes if one.failure is not None]
    ours = [failure for failure in failures if failure.verdict.cause is not Cause.PARTICIPANT]
    if ours or len(failures) == len(outcomes):
        done = sum(len(one.results) for one in outcomes)
        attempt.lease.report(attempt.lease.progress.model_copy(update={"tasks_done": done}))
        raise Failed((ours or failures)[0])
    found = [
        _part_failure(place, one.failure) for place, one in enumerate(outcomes) if one.failure is not None
    ]
    for one in found:
        words = f"Test {one.part + 1} of {len(outcomes)} failed: {one.verdict}: {one.message}"
        attempt.log.add(LogLine("platform", Stage.META_TESTING, words))
    return found


def _part_failure(place: int, failure: Failure) -> PartFailure:
    return PartFailure(
        part=place,
        verdict=failure.verdict,
        message=failure.message,
        detail=failure.detail,
        task_index=failure.task_index,
        ways=failure.ways,
        shots=failure.shots,
    )


def _inspect(attempt: AttemptContext[Tested], materials: Materials) -> Evidence:
    with attempt.step(PlatformStep.EVIDENCE):
        return evidence.inspect(attempt.site.sandboxes, materials.submission)


def _run(attempt: AttemptContext[Tested], materials: Materials, job: TaskServerJob) -> JobOutcome:
    opened: list[OpenBox] = []
    training_peaks: list[int] = []  # one value, once meta-training is over

    def report(progress: ServerProgress) -> None:
        if progress.stage == Stage.META_TESTING and opened and not training_peaks:
            training_peaks.append(opened[0].usage().memory_peak_bytes or 0)
        attempt.lease.report(_progress(progress))

    hooks = Hooks(
        on_progress=report,
        on_log=attempt.log.add,
        on_row=attempt.lease.meter.row,
        cancelled=lambda: attempt.lease.stop_reason is not None,
    )

    def open_channel():
        box = _open_box(attempt)
        opened.append(box)
        attempt.lease.meter.watch(box, lambda: attempt.site.sandboxes.gpu_use(attempt.key))
        return box.channel

    try:
        if attempt.assignment.isolated_tasks:
            outcome = serve_isolated(open_channel, job, hooks)
        else:
            outcome = serve(open_channel(), job, hooks)
    finally:
        attempt.lease.meter.rest()
        for box in opened:
            box.channel.close()
    _note(attempt, materials, outcome, opened)
    attempt.usage = attempt.usage.model_copy(
        update={"meta_train_memory_peak_bytes": max(training_peaks, default=0)}
    )
    attempt.check()
    return outcome


def _open_box(attempt: AttemptContext[Tested]) -> OpenBox:
    assignment = attempt.assignment
    with attempt.step(PlatformStep.SANDBOX_START):
        return attempt.site.sandboxes.open(
            assignment.image,
            assignment.limits,
            assignment.run_id,
            assignment.epoch,
            seconds=outer_seconds(assignment),
            eager=assignment.isolated_tasks,
            weights=assignment.weights,
            digest=assignment.image_digest,
        )


def outer_seconds(assignment: Tested) -> float:
    """The hard limit of a sandbox on the wall clock: the participant's budget and ample room for what is ours."""
    parts = max(1, len(assignment.parts)) if isinstance(assignment, MetaTest) else 1
    return 1.2 * parts * assignment.budget.run_seconds + 600.0 + 0.5 * assignment.tasks


def _parts(attempt: AttemptContext[Tested], materials: Materials) -> list[PoolTasks]:
    """The tasks of each test of the learner: one, or as many as the job says."""
    assignment = attempt.assignment
    if not isinstance(assignment, MetaTest) or not assignment.parts:
        return [_tasks(attempt, materials)]
    return [
        PoolTasks(part_of(materials.test_pool, part), part.protocol, materials.test_seed, 0, part.tasks)
        for part in assignment.parts
    ]


def _tasks(attempt: AttemptContext[Tested], materials: Materials) -> PoolTasks:
    assignment = attempt.assignment
    start, stop = assignment.shard or (0, assignment.tasks)
    tasks = PoolTasks(
        materials.test_pool, materials.protocol, materials.test_seed, start, stop, assignment.dataset
    )
    if not tasks.indices:
        words = "There are no tasks" if assignment.dataset is None else "There are fewer tasks than datasets"
        raise BadAssignment(Verdict.BAD_SETTINGS, f"{words}: set their number.")
    return tasks


def _job(attempt: AttemptContext[Tested], materials: Materials, tasks: PoolTasks) -> TaskServerJob:
    assignment = attempt.assignment
    return TaskServerJob(
        bundle=materials.submission,
        packs=materials.train_packs,
        validation_packs=materials.validation_packs,
        train_protocol=assignment.train_protocol,
        validation_protocol=assignment.validation_protocol,
        tasks=tasks,
        budget=assignment.budget,
        train_seed=assignment.train_seed,
        query_secret=materials.query_secret,
        learner=materials.learner,
        keep_learner=attempt.folder / LEARNER if assignment.keep_learner else None,
        snapshots=assignment.snapshots,
        keep_snapshots=attempt.folder / "snapshots" if exports_of(assignment).snapshots else None,
        probabilities=exports_of(assignment).probabilities,
        hide_dataset_names=assignment.hide_dataset_names,
        log_policy=assignment.log_policy,
        caps=OutputCaps(log_bytes=assignment.limits.output_bytes),
        cpus=max(1, round(assignment.limits.cpus)),
        max_items=SMOKE_ITEMS if isinstance(assignment, Smoke) else None,
        device="cuda" if assignment.limits.gpus else "cpu",
    )


def _note(
    attempt: AttemptContext[Tested], materials: Materials, outcome: JobOutcome, opened: list[OpenBox]
) -> None:
    """Usage and provenance, whatever the outcome."""
    used = [box.usage() for box in opened]
    for name, seconds in outcome.time.platform.items():
        attempt.platform_seconds[name] += seconds
    attempt.note_odd(outcome.time)
    spent, before = outcome.time.participant, attempt.usage  # of earlier parts, where one has failed
    training = spent.get("meta_fit", 0.0)
    testing = sum(spent.get(name, 0.0) for name in ("load", "fit", "predict"))
    attempt.usage = Usage(
        participant_seconds=before.participant_seconds + outcome.time.participant_seconds,
        meta_train_seconds=training,
        meta_test_seconds=before.meta_test_seconds + testing,
        cpu_seconds=before.cpu_seconds + sum(use.cpu_seconds for use in used),
        memory_peak_bytes=max((before.memory_peak_bytes, *(use.memory_peak_bytes or 0 for use in used))),
    )
    image = opened[0].image if opened else None
    attempt.provenance = Provenance(
        image=image.name if image else "",
        image_digest=image.digest if image else "",
        sandbox=attempt.site.sandboxes.name,
        kit_version=version("anyshot-starting-kit"),
        hardware=", ".join(attempt.site.sandboxes.gpu_names()) or processor_name(),
        worker=attempt.site.name,
        protocol_digest=attempt.assignment.fingerprint,
    )


def _score(
    attempt: AttemptContext[Tested], parts: Sequence[PoolTasks], outcomes: Sequence[JobOutcome]
) -> RunSummary:
    """The summary over all parts that were answered, their tasks numbered through; it is of each where there is one."""
    assignment, start = attempt.assignment, 0
    answered, expected = list[Predictions](), list[int]()
    for refs, tasks, outcome in zip(tested_packs(assignment), parts, outcomes, strict=True):
        if outcome.failure is None:
            names = [ref.name for ref in refs]
            domains = [ref.domain or pack.domain for ref, pack in zip(refs, tasks.pool, strict=True)]
            found = collect(outcome.results, tasks, names, domains)
            answered.append(replace(found, task=found.task + start))
            expected += [start + index for index in tasks.indices]
        start += len(tasks.indices)
    summary = score_and_keep(attempt, put_together(answered), assignment.fingerprint, expected)
    if assignment.keep_learner:
        attempt.upload(LEARNER, attempt.folder / LEARNER)
    return summary


def _keep_logger_tables(attempt: AttemptContext[Tested], outcome: JobOutcome) -> None:
    """The participant's own training curves come back as CSV files in one zip."""
    if not outcome.logger_tables:
        return
    target = attempt.folder / "logger.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(outcome.logger_tables.items()):
            archive.writestr(Path(name).name, content)
    attempt.upload(target.name, target)


def _progress(progress: ServerProgress) -> Progress:
    return Progress(
        stage=progress.stage,
        tasks_done=progress.tasks_done,
        tasks_total=progress.tasks_total,
        seconds_used=progress.seconds_used,
    )
