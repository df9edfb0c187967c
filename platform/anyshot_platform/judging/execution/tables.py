"""A submission's results of each task, one table a seeded run, and its predictions."""

import io
from collections.abc import Sequence
from functools import lru_cache

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.results import BadResultsFile, read_predictions
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.artifacts.models import Artifact
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.execution.service import list_runs, newest_runs
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.scores.models import RunScore
from anyshot_platform.judging.scores.tables import find_all_results, read_table
from anyshot_platform.judging.submissions.models import Submission
from anyshot_scoring.confusion import Confusion, confusion_by_dataset
from anyshot_scoring.table import TaskTable

PREDICTIONS = "predictions.parquet"


def counting_tables(
    session: Session, storage: Storage, submission: Submission, version: PhaseVersion
) -> list[TaskTable] | None:
    """The tables of the runs that make the score, in the order of their seeds; None where one is gone."""
    return counting_tables_of(session, storage, [submission.id], version)[submission.id]


def counting_tables_of(
    session: Session, storage: Storage, submissions: Sequence[str], version: PhaseVersion
) -> dict[str, list[TaskTable] | None]:
    """The same for several submissions, by their ids, with three queries for all of them."""
    digests = counting_digests_of(session, submissions, version)
    return {identity: read_all(storage, found) for identity, found in digests.items()}


def counting_digests_of(
    session: Session, submissions: Sequence[str], version: PhaseVersion
) -> dict[str, tuple[str, ...]]:
    """The digests of these tables, by submission; of none where one is gone."""
    runs: dict[str, list[Run]] = {identity: [] for identity in submissions}
    for run in session.scalars(select(Run).where(Run.submission_id.in_(submissions))):
        runs[run.submission_id or ""].append(run)
    finished = {identity: _finished(found, version) for identity, found in runs.items()}
    ids = [run.id for found in finished.values() for run in found]
    scored = set(session.scalars(select(RunScore.run_id).where(RunScore.run_id.in_(ids))))
    digests = find_all_results(session, ids)
    # A run without a score of its own is a shard whose tasks are in the table of the first one.
    kept = {
        identity: [digests.get(run.id, "") for run in found if run.id in scored]
        for identity, found in finished.items()
    }
    return {identity: tuple(found) if all(found) else () for identity, found in kept.items()}


def read_all(storage: Storage, digests: Sequence[str]) -> list[TaskTable] | None:
    """The tables of these digests; None where there is none, or one is gone."""
    tables = []
    for digest in digests:
        table = read_table(storage, digest)
        if table is None:
            return None
        tables.append(table)
    return tables or None


def find_predictions(session: Session, submission: Submission, version: PhaseVersion) -> tuple[str, ...]:
    """The digests of the predictions of all finished runs (and shards) that count; those that expired are left out."""
    runs = [run.id for run in _finished(list_runs(session, submission), version)]
    return tuple(
        session.scalars(
            select(Artifact.digest)
            .where(
                Artifact.run_id.in_(runs),
                Artifact.name == PREDICTIONS,
                Artifact.final,
                Artifact.expired_at.is_(None),
            )
            .order_by(Artifact.run_id)
        )
    )


@lru_cache(maxsize=32)
def read_confusion(storage: Storage, digests: tuple[str, ...]) -> tuple[Confusion, ...]:
    """The confusion of each dataset by the stored predictions; digests never change their content."""
    runs = []
    for digest in digests:
        try:
            with storage.open(digest) as file:
                runs.append(read_predictions(io.BytesIO(file.read())).predictions)
        except (FileNotFoundError, BadResultsFile):
            continue
    return confusion_by_dataset(runs)


def _finished(runs: Sequence[Run], version: PhaseVersion) -> list[Run]:
    return [run for run in newest_runs(runs, version.id) if run.state == RunState.FINISHED]
