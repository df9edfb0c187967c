"""The stage from predictions to scores: a summary and the two files that all tables and plots are computed from."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyshot_core.protocols import Protocol
from anyshot_core.protocols.keys import read_seed
from anyshot_core.protocols.registry import SEEDS
from anyshot_core.protocols.task import tasks_of_dataset
from anyshot_core.results import Identity, Maker, write_predictions, write_results
from anyshot_core.wire.jobs import MetaTest, Scored
from anyshot_core.wire.worker_api import Provenance
from anyshot_scoring.predictions import Predictions
from anyshot_scoring.summary import RunSummary, summarize


@dataclass(frozen=True)
class RunScores:
    """The summary of a run, and its files `results.parquet` and `predictions.parquet`."""

    summary: RunSummary
    results: Path
    predictions: Path


def score(predictions: Predictions, expected: Sequence[int], identity: Identity, folder: Path) -> RunScores:
    """Score all predictions, and write both files to `folder`.

    Raises `IncompleteRun` when one of the `expected` tasks is missing: a run is never scored on fewer in silence.
    """
    table = predictions.score()
    scores = RunScores(summarize(table, expected), folder / "results.parquet", folder / "predictions.parquet")
    write_results(scores.results, table, identity)
    write_predictions(scores.predictions, predictions, identity)
    return scores


def identify(assignment: Scored, protocol_digest: str, provenance: Provenance) -> Identity:
    """What the run's files say that it was, without the secrets that tasks and splits are drawn from."""
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
