"""Per-task results of finished runs, with dataset names as the viewer may see them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.artifacts.models import Artifact
from anyshot_platform.artifacts.storage import Storage
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.pools.models import Pack, PoolPack
from anyshot_platform.runs.models import Run
from anyshot_scoring.summary import Group, RunSummary
from anyshot_scoring.table import TaskTable
from anyshot_starting_kit.results import BadResultsFile, read_results

RESULTS = "results.parquet"


@dataclass(frozen=True)
class DatasetNames:
    """What datasets are called on a page: their names, or `Dataset k` by their place in the pool."""

    labels: dict[str, str]
    hidden: bool

    def label(self, name: str) -> str:
        """The name to show; one that is not in the pool stays hidden too."""
        if not self.hidden or name.startswith("Dataset "):
            return name
        return self.labels.get(name, "Hidden dataset")

    def reveal_sort(self, sort: str) -> str:
        """An order `d:LABEL` (or `-d:LABEL`) by a label that was shown, as the order by the dataset's own name."""
        if not self.hidden:
            return sort
        lead, mark, label = sort.partition("d:")
        own = next((name for name, shown in self.labels.items() if shown == label), "")
        return f"{lead}{mark}{own}" if mark and lead in ("", "-") else sort

    def groups(self, groups: Sequence[Group]) -> list[Group]:
        """Groups by dataset under the names to show, in the pool's order."""
        shown = [replace(group, key=self.label(str(group.key))) for group in groups]
        return sorted(shown, key=lambda group: _natural(str(group.key)))


def _natural(name: str) -> tuple[str, int]:
    words, _, number = name.rpartition(" ")
    return (words, int(number)) if number.isdigit() else (name, 0)


def dataset_names(session: Session, phase: Phase, version: PhaseVersion, *, sees_all: bool) -> DatasetNames:
    """The names for a viewer of a phase; organizers and reviewers see all."""
    names = session.execute(
        select(Pack.name, PoolPack.position)
        .join(PoolPack, PoolPack.pack_id == Pack.id)
        .where(PoolPack.pool_version_id == (version.meta_test_pool_version_id or ""))
    )
    labels = {name: f"Dataset {position + 1}" for name, position in names}
    return DatasetNames(labels, phase.hide_dataset_names and not sees_all)


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


def hide_names(table: TaskTable, names: DatasetNames) -> TaskTable:
    """The table with dataset names as they may be shown, and without domains where names are hidden."""
    if not names.hidden:
        return table
    columns = table.columns()
    columns["dataset"] = np.array([names.label(str(name)) for name in table.dataset])
    columns["domain"] = np.full(len(table), "")
    return TaskTable.from_columns(columns)


def hide_summary(summary: RunSummary, names: DatasetNames) -> RunSummary:
    """The summary with dataset names as they may be shown; domains only where names are shown."""
    domains = () if names.hidden else summary.by_domain
    return replace(summary, by_dataset=tuple(names.groups(summary.by_dataset)), by_domain=domains)
