"""Puts the parts of a run together, shards or datasets: the same result that a single worker would have handed in."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.artifacts.models import Artifact
from anyshot_platform.artifacts.service import keep_file
from anyshot_platform.errors import NotFound
from anyshot_platform.queue.outbox import mark_outbox
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.settlement import list_siblings, settle
from anyshot_platform.runs.states import RunState
from anyshot_platform.scores.models import RunScore
from anyshot_platform.scores.service import record_score
from anyshot_platform.web.services import Services
from anyshot_scoring.summary import RunSummary, summarize
from anyshot_scoring.table import TaskTable
from anyshot_starting_kit.results import read_results, write_results

log = logging.getLogger(__name__)
COMBINED = "results.parquet"


def combine_ready_shards(services: Services) -> int:
    """Combine the runs all of whose shards are finished; returns how many."""
    with services.database.reading() as session:
        ready = _find_ready(session)
    for run_id in ready:
        combine(services, run_id)
    return len(ready)


def _find_ready(session: Session) -> list[str]:
    """The first shards of the runs that are ready and have no score yet."""
    finished = (
        select(Run.submission_id, Run.phase_version_id, Run.generation, Run.seed_index)
        .where(Run.shard_index.is_not(None), Run.state == RunState.FINISHED)
        .group_by(Run.submission_id, Run.phase_version_id, Run.generation, Run.seed_index)
        .having(func.count(Run.id) == func.max(Run.shard_count))
        .subquery()
    )
    return list(
        session.scalars(
            select(Run.id)
            .join(
                finished,
                (Run.submission_id == finished.c.submission_id)
                & (Run.phase_version_id == finished.c.phase_version_id)
                & (Run.generation == finished.c.generation)
                & (Run.seed_index == finished.c.seed_index),
            )
            .outerjoin(RunScore, RunScore.run_id == Run.id)
            .where(Run.shard_index == 0, RunScore.run_id.is_(None))
        )
    )


def combine(services: Services, run_id: str) -> None:
    """Put the tables of a run's shards together by task, and score the whole on its first shard's run."""
    with services.database.reading() as session:
        first = session.get_one(Run, run_id)
        shards = [run for run in list_siblings(session, first) if run.seed_index == first.seed_index]
        digests = [_results_of(session, run) for run in shards]
        tasks = first.phase_version.tasks
    with tempfile.TemporaryDirectory(prefix="anyshot-shards-") as folder:
        tables, metas = [], []
        for place, digest in enumerate(digests):
            path = Path(folder) / f"{place}.parquet"
            with services.storage.open(digest) as source, path.open("wb") as sink:
                while chunk := source.read(1 << 20):
                    sink.write(chunk)
            table, meta = read_results(path)
            tables.append(table)
            metas.append(meta)
        whole = TaskTable.concatenate(tables).sorted()
        summary = summarize(whole, tasks)
        target = Path(folder) / COMBINED
        write_results(target, whole, {**metas[0], "tasks": tasks})
        blob = keep_file(services, target)
    with services.database.writing() as session:
        run = session.get_one(Run, run_id)
        _replace_results(session, run, blob.digest, blob.size)
        _record(session, run, summary)


def _record(session: Session, run: Run, summary: RunSummary) -> None:
    record_score(session, run, summary)
    settle(session, run)
    mark_outbox(session)


def _results_of(session: Session, run: Run) -> str:
    artifact = session.scalars(
        select(Artifact).where(Artifact.run_id == run.id, Artifact.name == COMBINED, Artifact.final)
    ).first()
    if artifact is None:
        raise NotFound(f"Shard {run.shard_index} of run {run.id} left no results.")
    return artifact.digest


def _replace_results(session: Session, run: Run, digest: str, size: int) -> None:
    artifact = session.scalars(
        select(Artifact).where(Artifact.run_id == run.id, Artifact.name == COMBINED, Artifact.final)
    ).one()
    artifact.digest, artifact.size = digest, size
    session.flush()
