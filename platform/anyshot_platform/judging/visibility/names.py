"""What datasets are called: by their names, or `Hidden k` where the phase hides them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.pools.models import Pack, PoolPack
from anyshot_platform.contest.pools.rights import is_public
from anyshot_platform.judging.visibility.phases import PhaseSight
from anyshot_scoring.summary import Group, RunSummary
from anyshot_scoring.table import TaskTable

OTHER = "Hidden, of another pool"


@dataclass(frozen=True)
class DatasetNames:
    """What datasets are called for a viewer: their names, or `Hidden k` by their place in the pool.

    In the sandbox the datasets of a hidden training pool are called `Dataset k`: the two never share a label.
    """

    labels: dict[str, str]
    hidden: bool

    def label(self, name: str) -> str:
        """The name to show; one that is not in the pool (any more) stays hidden too."""
        return self.labels.get(name, OTHER) if self.hidden else name

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
        return sorted(shown, key=lambda group: natural(str(group.key)))


def natural(name: str) -> tuple[str, int]:
    """A key that sorts `Hidden 2` before `Hidden 10`."""
    words, _, number = name.rpartition(" ")
    return (words, int(number)) if number.isdecimal() else (name, 0)


def name_datasets(session: Session, sight: PhaseSight, version: PhaseVersion) -> DatasetNames:
    """The names of the datasets that a version tests on; those of a published pool are no secret."""
    names = session.execute(
        select(Pack.name, PoolPack.position)
        .join(PoolPack, PoolPack.pack_id == Pack.id)
        .where(PoolPack.pool_version_id == (version.meta_test_pool_version_id or ""))
    )
    labels = {name: f"Hidden {position + 1}" for name, position in names}
    return DatasetNames(labels, not sight.names and not is_public(version.meta_test))


def hides_training_names(phase: Phase, version: PhaseVersion) -> bool:
    """Whether the sandbox calls the datasets of the training pool `Dataset k`: not where everybody may have them."""
    return phase.hide_dataset_names and not is_public(version.meta_train)


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
