"""Puts the parts of a run together, shards or datasets: the same result that a single worker would have handed in."""

from __future__ import annotations

import logging
import tempfile
from dataclasses import replace
from pathlib import Path

from sqlalchemy import case, func, or_, select
from sqlalchemy.orm import Session

from anyshot_core.results import read_results, write_results
from anyshot_core.wire.verdicts import Cause
from anyshot_platform.artifacts.models import Artifact
from anyshot_platform.artifacts.service import keep_file
from anyshot_platform.errors import NotFound
from anyshot_platform.judging.parts import deciding, list_siblings
from anyshot_platform.judging.scores import record_score
from anyshot_platform.judging.settlement import settle
from anyshot_platform.queue.isolation import each
from anyshot_platform.queue.outbox import mark_outbox
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.states import RunState
from anyshot_platform.scores.models import RunScore
from anyshot_platform.services import Services
from anyshot_scoring.summary import RunSummary, summarize
from anyshot_scoring.table import TaskTable

log = logging.getLogger(__name__)
COMBINED = "results.parquet"


def combine_ready_shards(services: Services) -> int:
    """Combine the runs all of whose shards are finished; returns how many."""
    with services.database.reading() as session:
        ready = _find_ready(session)
    return each(services, "shards", ready, lambda run_id: _combine_one(services, run_id))


def _combine_one(services: Services, run_id: str) -> int:
    combine(services, run_id)
    return 1


def _find_ready(session: Session) -> list[str]:
    """The first finished parts of the runs that are ready and have no score yet."""
    finished = case((Run.state == RunState.FINISHED, 1), else_=0)
    through = case((or_(Run.state == RunState.FINISHED, Run.cause == Cause.PARTICIPANT), 1), else_=0)
    groups = (
        select(func.min(Run.id))
        .outerjoin(RunScore, RunScore.run_id == Run.id)
        .where(Run.shard_index.is_not(None))
        .group_by(Run.submission_id, Run.phase_version_id, Run.generation, Run.seed_index)
        .having(
            func.count(RunScore.run_id) == 0,
            func.sum(finished) > 0,
            func.sum(through) == func.max(Run.shard_count),
        )
    )
    found = [_parts(session, session.get_one(Run, run_id)) for run_id in session.scalars(groups).all()]
    return [parts[0].id for parts in found if parts]


def _parts(session: Session, run: Run) -> list[Run]:
    """The finished parts of a seeded run in their order; none where another one that counts is missing."""
    parts = [other for other in list_siblings(session, run) if other.seed_index == run.seed_index]
    counting = deciding(parts)
    return counting if all(part.state == RunState.FINISHED for part in counting) else []


def combine(services: Services, run_id: str) -> None:
    """Put the tables of a run's parts together by task, and score the whole on its first part."""
    with services.database.reading() as session:
        first = session.get_one(Run, run_id)
        digests = [_results_of(session, run) for run in _parts(session, first)]
        tasks = first.phase_version.tasks
    with tempfile.TemporaryDirectory(prefix="anyshot-shards-") as folder:
        tables, identities = [], []
        for place, digest in enumerate(digests):
            path = Path(folder) / f"{place}.parquet"
            with services.storage.open(digest) as source, path.open("wb") as sink:
                while chunk := source.read(1 << 20):
                    sink.write(chunk)
            found = read_results(path)
            tables.append(found.table)
            identities.append(found.identity)
        whole = TaskTable.concatenate(tables).sorted()
        summary = _summarize(whole, tasks)
        target = Path(folder) / COMBINED
        write_results(target, whole, identities[0].model_copy(update={"part": "", "tasks": tasks}))
        blob = keep_file(services, target)
    with services.database.writing() as session:
        run = session.get_one(Run, run_id)
        _replace_results(session, run, blob.digest, blob.size)
        _record(session, run, summary)


def _summarize(table: TaskTable, tasks: int) -> RunSummary:
    """The summary of the whole; where the code failed on a dataset, its tasks count as guessed (0) in the mean.

    By dataset they are missing, which is the worst rank there.
    """
    if len(table) == tasks:
        return summarize(table, tasks)
    found = summarize(table, table.task.tolist())
    share = len(table) / tasks
    half_width = None if found.half_width is None else found.half_width * share
    return replace(found, mean=found.mean * share, half_width=half_width, tasks=tasks)


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
