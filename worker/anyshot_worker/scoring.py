"""From predictions to the summary and the two files that every table and plot can be computed from again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshot_core.protocols import Protocol
from anyshot_core.protocols.keys import read_seed
from anyshot_core.protocols.registry import SEEDS
from anyshot_core.protocols.task import tasks_of_dataset
from anyshot_core.results import Identity, Maker, read_predictions, write_predictions, write_results
from anyshot_core.wire.jobs import MetaTest, Rescore, Scored
from anyshot_core.wire.worker_api import Complete, PlatformStep, Stage
from anyshot_scoring.predictions import Predictions
from anyshot_scoring.summary import RunSummary, summarize
from anyshot_worker.attempt import AttemptContext


def score_and_keep(
    attempt: AttemptContext[Any],
    predictions: Predictions,
    protocol_digest: str,
    expected: Sequence[int] | None = None,
) -> RunSummary:
    """Score, upload `results.parquet` and `predictions.parquet`, and return the summary.

    `expected` are the tasks that must be there, None for all that the attempt has to answer. Raises `IncompleteRun`
    when tasks are missing: a run is never scored on fewer tasks in silence.
    """
    assignment: Scored = attempt.assignment
    attempt.report_stage(Stage.SCORING, "Scoring the predictions")
    identity = identify(attempt, protocol_digest)
    with attempt.step(PlatformStep.SCORING):
        table = predictions.score()
        summary = summarize(table, expected_tasks(assignment) if expected is None else expected)
        results, answers = attempt.folder / "results.parquet", attempt.folder / "predictions.parquet"
        write_results(results, table, identity)
        write_predictions(answers, predictions, identity)
    attempt.upload(results.name, results)
    attempt.upload(answers.name, answers)
    return summary


def identify(attempt: AttemptContext[Any], protocol_digest: str) -> Identity:
    """What the run's files say that it was, without the secrets that tasks and splits are drawn from."""
    assignment: Scored = attempt.assignment
    provenance = attempt.provenance
    parts = isinstance(assignment, MetaTest) and assignment.parts  # each has a protocol of its own
    part = assignment.dataset if assignment.dataset is not None else (assignment.shard or ("",))[0]
    return Identity(
        maker=Maker.SITE,
        who=assignment.submission_name or assignment.submission_id,
        submission=assignment.submission_id,
        run=str(assignment.run + 1),
        part=str(part),
        run_id=assignment.run_id,
        competition=assignment.competition,
        phase=assignment.phase,
        train_seed=assignment.train_seed,
        same_test_tasks=assignment.same_test_tasks,
        tasks=assignment.tasks,
        protocol={} if parts else _shown(assignment.protocol),
        protocol_digest=protocol_digest,
        train_pool=tuple(pack.blob.digest for pack in assignment.meta_train),
        test_pool=tuple(pack.blob.digest for pack in assignment.meta_test),
        code=assignment.submission.digest,
        image=provenance.image_digest or provenance.image,
        versions={"kit": provenance.kit_version} if provenance.kit_version else {},
    )


def _shown(protocol: Protocol) -> dict[str, Any]:
    return {key: value for key, value in protocol.to_dict().items() if key not in SEEDS}


def expected_tasks(assignment: Scored) -> Sequence[int]:
    """The tasks that the attempt has to answer: the phase's, a shard of them, or those of one dataset."""
    tasks = range(*(assignment.shard or (0, assignment.tasks)))
    if assignment.dataset is None:
        return tasks
    return tasks_of_dataset(
        read_seed(assignment.test_seed), tasks, len(assignment.meta_test), assignment.dataset
    )


def rescore(attempt: AttemptContext[Rescore]) -> Complete:
    """Score the predictions of an earlier attempt again; nothing of the submission runs."""
    assignment = attempt.assignment
    attempt.report_stage(Stage.PREPARING, "Fetching the predictions")
    with attempt.step(PlatformStep.PREPARE):
        path = attempt.files.get(assignment.predictions, ".parquet")
    found = read_predictions(path)
    summary = score_and_keep(attempt, found.predictions, found.identity.protocol_digest)
    attempt.upload("log.txt", attempt.log.close())
    return Complete(
        epoch=assignment.epoch,
        summary=summary,
        artifacts=attempt.artifacts,
        usage=attempt.use(),
        provenance=attempt.provenance,
    )
