"""Per-task results of finished runs."""

import io
from collections.abc import Sequence
from functools import lru_cache

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.results import BadResultsFile, read_results
from anyshot_platform.foundation.artifacts.models import Artifact
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.runs.models import Run
from anyshot_scoring.table import TaskTable

RESULTS = "results.parquet"


def find_results(session: Session, run: Run) -> str | None:
    """The digest of a finished run's per-task results; None where they were removed by the retention policy."""
    return find_all_results(session, [run.id]).get(run.id)


def find_all_results(session: Session, run_ids: Sequence[str]) -> dict[str, str]:
    """The digests of the per-task results of finished runs, by the runs' ids; those that were removed are left out."""
    rows = session.execute(
        select(Artifact.run_id, Artifact.digest).where(
            Artifact.run_id.in_(run_ids),
            Artifact.name == RESULTS,
            Artifact.final,
            Artifact.expired_at.is_(None),
        )
    )
    return {row.run_id: row.digest for row in rows}


def read_table(storage: Storage, digest: str | None) -> TaskTable | None:
    """The table of that digest; None where it is gone. Digests never change their content, so it is kept."""
    return _read_table(storage, digest) if digest is not None else None


@lru_cache(maxsize=64)
def _read_table(storage: Storage, digest: str) -> TaskTable | None:
    try:
        with storage.open(digest) as file:
            return read_results(io.BytesIO(file.read())).table
    except (FileNotFoundError, BadResultsFile):
        return None
