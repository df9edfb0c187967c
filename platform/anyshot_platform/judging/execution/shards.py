"""Puts the parts of a run together, shards or datasets: the same result that a single worker would have handed in."""

import io
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import case, func, or_, select
from sqlalchemy.orm import Session

from anyshot_core.data.digests import digest_file
from anyshot_core.results import Identity, read_results, write_results
from anyshot_core.wire.verdicts import Cause
from anyshot_platform.foundation.artifacts.models import Artifact
from anyshot_platform.foundation.artifacts.service import touch_blob
from anyshot_platform.foundation.background.isolation import each
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.domain_events import PartsFinished
from anyshot_platform.judging.execution.scores import record_score
from anyshot_platform.judging.execution.settlement import settle
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.scores.models import RunScore
from anyshot_platform.judging.scores.verification import RESULTS
from anyshot_scoring.summary import RunSummary, summarize
from anyshot_scoring.table import TaskTable


@dataclass(frozen=True)
class PartsJoiner:
    """Subscribes to the end of a run's last part, in whose transaction the whole is scored."""

    storage: Storage

    def __call__(self, session: Session, finished: PartsFinished) -> None:
        """Put the tables of a run's parts together by task, and score the whole on its first part."""
        first, tasks = finished.parts[0], finished.parts[0].phase_version.tasks
        files = [_results_of(session, run) for run in finished.parts]
        tables, identities = zip(*(self._read(file.digest) for file in files), strict=True)
        whole = TaskTable.concatenate(list(tables)).sorted()
        identity = identities[0].model_copy(update={"part": "", "tasks": tasks})
        files[0].digest, files[0].size = self._store(session, whole, identity)
        session.flush()
        record_score(session, first, _summarize_whole(whole, tasks))

    def _read(self, digest: str) -> tuple[TaskTable, Identity]:
        with self.storage.open(digest) as source:
            found = read_results(io.BytesIO(source.read()))
        return found.table, found.identity

    def _store(self, session: Session, whole: TaskTable, identity: Identity) -> tuple[str, int]:
        with tempfile.TemporaryDirectory(prefix="anyshot-parts-") as folder:
            path = Path(folder) / RESULTS
            write_results(path, whole, identity)
            digest, size = digest_file(path), path.stat().st_size
            touch_blob(session, digest, size)
            self.storage.put(digest, path)
        return digest, size


def settle_forgotten_parts(services: Services) -> int:
    """Settle runs whose parts had all ended when this release took over, and which have no score; how many.

    Since then the last part does it. A site that was stopped between the two is put right here.
    """
    with services.database.reading() as session:
        forgotten = _find_forgotten(session)
    return each(services, "shards", forgotten, lambda run_id: _settle(services, run_id))


def _settle(services: Services, run_id: str) -> int:
    with services.database.writing() as session:
        settle(session, session.get_one(Run, run_id))
    return 1


def _find_forgotten(session: Session) -> Sequence[str]:
    """A finished part of each run whose parts have ended as they should, without a score."""
    finished = case((Run.state == RunState.FINISHED, Run.id))
    through = case((or_(Run.state == RunState.FINISHED, Run.cause == Cause.PARTICIPANT), 1), else_=0)
    groups = (
        select(func.min(finished))
        .outerjoin(RunScore, RunScore.run_id == Run.id)
        .where(Run.shard_index.is_not(None))
        .group_by(Run.submission_id, Run.phase_version_id, Run.generation, Run.seed_index)
        .having(
            func.count(RunScore.run_id) == 0,
            func.count(finished) > 0,
            func.sum(through) == func.max(Run.shard_count),
        )
    )
    return session.scalars(groups).all()


def _results_of(session: Session, run: Run) -> Artifact:
    """The table of a part; a part without one was not taken: see `judging.execution.kinds.scored`."""
    mine = (Artifact.run_id == run.id, Artifact.epoch == run.epoch)
    wanted = (*mine, Artifact.name == RESULTS, Artifact.final)
    return session.scalars(select(Artifact).where(*wanted)).one()


def _summarize_whole(table: TaskTable, tasks: int) -> RunSummary:
    """The summary of the whole; where the code failed on a dataset, its tasks count as guessed (0) in the mean.

    By dataset they are missing, which is the worst rank there. The groups are of the tasks that were answered. Other
    metrics have no figure: over the easier datasets alone they would be better than those of who answered all.
    """
    if len(table) == tasks:
        return summarize(table, tasks)
    found = summarize(table, table.task.tolist())
    share = len(table) / tasks
    half_width = None if found.half_width is None else found.half_width * share
    return replace(found, mean=found.mean * share, half_width=half_width, tasks=tasks, metrics=())
