"""The stages from materials to a learner and to its predictions: the submission runs in sandboxes.

Both are made in one conversation, so that the code finds in the test what it left in memory; where there is a learner
to start from, the conversation only tests it.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

from anyshot_core.exports import Asked
from anyshot_core.hardware import processor_name
from anyshot_core.taskserver.channel import Channel
from anyshot_core.taskserver.job import (
    Hooks,
    JobOutcome,
    OutputCaps,
    ServerProgress,
    Snapshot,
    TaskServerJob,
    TimeUse,
)
from anyshot_core.taskserver.joined import serve_parts
from anyshot_core.taskserver.scores import collect, put_together
from anyshot_core.taskserver.server import serve, serve_isolated
from anyshot_core.wire.jobs import MetaTest, Smoke, Tested
from anyshot_core.wire.verdicts import Cause
from anyshot_core.wire.worker_api import PartFailure, PlatformStep, Progress, Provenance, Stage, Usage
from anyshot_scoring.predictions import Predictions
from anyshot_worker import checkpoints
from anyshot_worker.attempt import Failed, RunAttempt, failure_fields
from anyshot_worker.checkpoints import Checkpointer, Earlier, can_resume, zip_tables
from anyshot_worker.materials import Materials, TestedPart
from anyshot_worker.sandbox import OpenBox

SMOKE_ITEMS = 3  # tasks or batches that a generator yields a call in a trial run


@dataclass(frozen=True)
class TrainedLearner:
    """What meta-training left: the learner where it is kept, snapshots of it, and a zip of its logger's tables."""

    file: Path | None
    snapshots: tuple[Snapshot, ...]
    logger_tables: Path | None


@dataclass(frozen=True)
class CollectedAnswers:
    """What meta-test left: predictions for the `expected` tasks, numbered through all parts, and why parts failed."""

    predictions: Predictions
    expected: list[int]
    failures: list[PartFailure]


@dataclass(frozen=True)
class Boxes:
    """Sandboxes for one attempt, opened one after another: whoever opens the first closes all."""

    attempt: RunAttempt[Tested]
    on_open: Callable[[OpenBox], object] = lambda box: None
    opened: list[OpenBox] = field(default_factory=list)

    def open(self) -> Channel:
        """The channel to a fresh box. Raises `SandboxError`, and `Stopped` where the attempt is to stop."""
        assignment = self.attempt.assignment
        with self.attempt.step(PlatformStep.SANDBOX_START):
            box = self.attempt.site.sandboxes.open(
                assignment.image,
                assignment.limits,
                assignment.run_id,
                assignment.epoch,
                seconds=outer_seconds(assignment),
                eager=assignment.isolated_tasks,
                weights=assignment.weights,
                digest=assignment.image_digest,
            )
        self.opened.append(box)
        self.on_open(box)
        return box.channel

    def serve(self, job: TaskServerJob, hooks: Hooks) -> JobOutcome:
        """Carry a job out in one box, or in a fresh one for each task where the phase isolates them."""
        if self.attempt.assignment.isolated_tasks:
            return serve_isolated(self.open, job, hooks)
        return serve(self.open(), job, hooks)

    def close(self) -> None:
        """End all boxes."""
        for box in self.opened:
            box.channel.close()


def outer_seconds(assignment: Tested) -> float:
    """The hard limit of a sandbox on the wall clock: the participant's budget and ample room for what is ours."""
    parts = max(1, len(assignment.parts)) if isinstance(assignment, MetaTest) else 1
    return 1.2 * parts * assignment.budget.run_seconds + 600.0 + 0.5 * assignment.tasks


def describe_job(
    assignment: Tested, materials: Materials, parts: Sequence[TestedPart], asked: Asked, folder: Path
) -> TaskServerJob:
    """What the task server is asked to do, with the tasks of the first part; the files that it keeps go to `folder`."""
    stored = materials.learner is None and can_resume(assignment, parts)
    return TaskServerJob(
        bundle=materials.submission,
        packs=materials.train_packs,
        validation_packs=materials.validation_packs,
        train_protocol=assignment.train_protocol,
        validation_protocol=assignment.validation_protocol,
        tasks=parts[0].tasks,
        budget=assignment.budget,
        train_seed=assignment.train_seed,
        query_secret=materials.query_secret,
        learner=materials.learner,
        keep_learner=folder / "learner.bin" if assignment.keep_learner or stored else None,
        keep_training=folder / "training.bin" if stored else None,
        checkpoint_seconds=checkpoints.SHORTEST,
        try_checkpoint=isinstance(assignment, Smoke),
        learner_optional=not (assignment.keep_learner or assignment.isolated_tasks),
        snapshots=assignment.snapshots,
        keep_snapshots=folder / "snapshots" if asked.snapshots else None,
        probabilities=asked.probabilities,
        hide_dataset_names=assignment.hide_dataset_names,
        log_policy=assignment.log_policy,
        caps=OutputCaps(log_bytes=assignment.limits.output_bytes),
        cpus=max(1, round(assignment.limits.cpus)),
        max_items=SMOKE_ITEMS if isinstance(assignment, Smoke) else None,
        device="cuda" if assignment.limits.gpus else "cpu",
    )


def train_and_test(
    attempt: RunAttempt[Tested], job: TaskServerJob, parts: Sequence[TestedPart], earlier: Earlier | None
) -> tuple[TrainedLearner, list[JobOutcome]]:
    """Meta-train, unless there is a learner, and test on all parts: an outcome each, failed ones too.

    What `earlier` attempts did is not done again. Raises `Stopped` where the attempt is to stop, once what it used
    until then is counted.
    """
    file = job.keep_learner
    if earlier is not None:
        attempt.account.begin_with(earlier.usage)
        job = replace(job, resumed=earlier.resumed)
        if earlier.learner is not None and file is not None:
            file.hardlink_to(earlier.learner)
            job = replace(job, learner=file, keep_learner=None)
    stored = can_resume(attempt.assignment, parts)
    outcomes = serve_parts(
        lambda joined: _converse(attempt, joined, earlier, stored), job, [part.tasks for part in parts]
    )
    first, tables = outcomes[0], None
    if content := zip_tables(first.logger_tables):
        tables = attempt.folder / "logger.zip"
        tables.write_bytes(content)
    kept = file if attempt.assignment.keep_learner else None
    return TrainedLearner(kept, first.snapshots, tables), outcomes


def _converse(
    attempt: RunAttempt[Tested], job: TaskServerJob, earlier: Earlier | None, stored: bool
) -> JobOutcome:
    """Serve a job in boxes; where it can be resumed, its checkpoints are stored meanwhile."""
    meter, sandboxes = attempt.lease.meter, attempt.site.sandboxes
    before = Usage() if earlier is None else earlier.usage
    training_peaks: list[int] = []  # one value, once meta-training is over
    if earlier is not None and earlier.resumed.training is None:
        training_peaks.append(before.meta_train_memory_peak_bytes)

    def report(progress: ServerProgress) -> None:
        if progress.stage == Stage.META_TESTING and boxes.opened and not training_peaks:
            training_peaks.append(
                max(before.memory_peak_bytes, boxes.opened[0].usage().memory_peak_bytes or 0)
            )
        attempt.lease.report(
            Progress(
                stage=progress.stage,
                tasks_done=progress.tasks_done,
                tasks_total=progress.tasks_total,
                seconds_used=progress.seconds_used,
            )
        )

    def measure(time: TimeUse) -> tuple[Usage, Provenance]:
        usage = _usage(time, boxes.opened, max(training_peaks, default=0))
        return attempt.account.with_boxes(usage), _provenance(attempt, boxes.opened, earlier)

    boxes = Boxes(attempt, lambda box: meter.watch(box, lambda: sandboxes.gpu_use(attempt.key)))
    checkpointer = Checkpointer(attempt, job, measure)
    hooks = Hooks(
        on_progress=report,
        on_log=attempt.log.add,
        on_row=meter.row,
        cancelled=attempt.must_stop,
        stops=attempt.is_stopped,
    )
    if stored:
        hooks = replace(
            hooks,
            on_training=checkpointer.training,
            on_learner=checkpointer.learner,
            on_answer=checkpointer.answer,
        )
    try:
        with checkpointer if stored else nullcontext():
            outcome = boxes.serve(job, hooks)
    finally:
        meter.rest()
        boxes.close()
    usage = _usage(outcome.time, boxes.opened, max(training_peaks, default=0))
    provenance = _provenance(attempt, boxes.opened, earlier)
    attempt.account.add(usage, provenance, outcome.time)
    attempt.check()
    return outcome


def _usage(time: TimeUse, opened: Sequence[OpenBox], training_peak: int) -> Usage:
    spent, used = time.participant, [box.usage() for box in opened]
    return Usage(
        participant_seconds=time.participant_seconds,
        meta_train_seconds=spent.get("meta_fit", 0.0),
        meta_test_seconds=sum(spent.get(name, 0.0) for name in ("load", "fit", "predict")),
        cpu_seconds=sum(use.cpu_seconds for use in used),
        memory_peak_bytes=max((use.memory_peak_bytes or 0 for use in used), default=0),
        meta_train_memory_peak_bytes=training_peak,
    )


def _provenance(
    attempt: RunAttempt[Tested], opened: Sequence[OpenBox], earlier: Earlier | None
) -> Provenance:
    image, sandboxes = opened[0].image if opened else None, attempt.site.sandboxes
    return Provenance(
        image=image.name if image else "",
        image_digest=image.digest if image else "",
        sandbox=sandboxes.name,
        kit_version=version("anyshot-starting-kit"),
        hardware=", ".join(sandboxes.gpu_names()) or processor_name(),
        worker=attempt.site.name,
        protocol_digest=attempt.assignment.fingerprint,
        **({"earlier": earlier.attempts} if earlier is not None else {}),
    )


def collect_answers(
    attempt: RunAttempt[Tested], parts: Sequence[TestedPart], outcomes: Sequence[JobOutcome]
) -> CollectedAnswers:
    """The answers of all parts, where those that failed did so by the code's fault; else raises `Failed`."""
    failures = _require_answers(attempt, outcomes)
    answered, expected, start = list[Predictions](), list[int](), 0
    for part, outcome in zip(parts, outcomes, strict=True):
        tasks = part.tasks
        if outcome.failure is None:
            names = [ref.name for ref in part.packs]
            domains = [ref.domain or pack.domain for ref, pack in zip(part.packs, tasks.pool, strict=True)]
            found = collect(outcome.results, tasks, names, domains)
            answered.append(replace(found, task=found.task + start))
            expected += [start + index for index in tasks.indices]
        start += len(tasks.indices)
    return CollectedAnswers(put_together(answered), expected, failures)


def _require_answers(attempt: RunAttempt[Tested], outcomes: Sequence[JobOutcome]) -> list[PartFailure]:
    failures = [(part, one.failure) for part, one in enumerate(outcomes) if one.failure is not None]
    ours = [failure for _, failure in failures if failure.verdict.cause is not Cause.PARTICIPANT]
    if ours or len(failures) == len(outcomes):
        done = sum(len(one.results) for one in outcomes)
        attempt.lease.report(attempt.lease.progress.model_copy(update={"tasks_done": done}))
        raise Failed(ours[0] if ours else failures[0][1])
    for part, failure in failures:
        words = f"Test {part + 1} of {len(outcomes)} failed: {failure.verdict}: {failure.message}"
        attempt.say(Stage.META_TESTING, words)
    return [PartFailure(part=part, **failure_fields(failure)) for part, failure in failures]
