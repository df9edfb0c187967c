"""A submission's results of each task, one table a seeded run, and its predictions."""

from __future__ import annotations

import io
from functools import lru_cache

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.artifacts.models import Artifact
from anyshot_platform.artifacts.storage import Storage
from anyshot_platform.phases.models import PhaseVersion
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.service import list_runs
from anyshot_platform.runs.states import RunState
from anyshot_platform.scores.models import RunScore
from anyshot_platform.scores.tables import find_results, read_table
from anyshot_platform.submissions.models import Submission
from anyshot_platform.submissions.progress import newest_runs
from anyshot_scoring.confusion import Confusion, confusion_by_dataset
from anyshot_scoring.table import TaskTable
from anyshot_starting_kit.results import BadResultsFile, read_predictions

PREDICTIONS = "predictions.parquet"


def counting_tables(
    session: Session, storage: Storage, submission: Submission, version: PhaseVersion
) -> list[TaskTable] | None:
    """The tables of the runs that make the score, in the order of their seeds; None where one is gone."""
    runs = _finished(session, submission, version)
    scored = set(
        session.scalars(select(RunScore.run_id).where(RunScore.run_id.in_([run.id for run in runs])))
    )
    tables = []
    for run in runs:
        if run.id not in scored:  # a shard whose tasks are in the table of the first one
            continue
        table = read_table(storage, find_results(session, run))
        if table is None:
            return None
        tables.append(table)
    return tables or None


def find_predictions(session: Session, submission: Submission, version: PhaseVersion) -> tuple[str, ...]:
    """The digests of the predictions of all finished runs (and shards) that count; those that expired are left out."""
    runs = [run.id for run in _finished(session, submission, version)]
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


def _finished(session: Session, submission: Submission, version: PhaseVersion) -> list[Run]:
    runs = newest_runs(list_runs(session, submission), version.id)
    return [run for run in runs if run.state == RunState.FINISHED]
