"""Tasks made of support sets: a learner fits all folds but one, and is asked for that one, whose labels it would have.

Shimabucoro et al., *Evaluating the Evaluators*: 5-fold cross-validation, and the hold-out of its first fold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from anyshot_core.episodes.folds import FOLDS, class_folds
from anyshot_core.taskserver.job import DrawnTask, TaskResult
from anyshot_core.taskserver.tasks import PoolTasks


@dataclass(frozen=True)
class FoldTasks:
    """A task source: fold `f` of task `t` has index 5 t + f. Tasks of which no fold can be made have none."""

    tasks: PoolTasks

    @property
    def indices(self) -> Sequence[int]:
        """All folds of all tasks that can be estimated."""
        return self._indices

    @cached_property
    def _indices(self) -> Sequence[int]:
        return [
            FOLDS * task + fold
            for task in self.tasks.indices
            if (folds := class_folds(self.tasks.spec(task).support_labels)) is not None
            for fold in range(int(folds.max()) + 1)
        ]

    def draw(self, index: int) -> DrawnTask:
        """The task that is a fold."""
        task, fold = divmod(index, FOLDS)
        whole = self._whole(task)
        folds = class_folds(whole.support_labels)
        assert folds is not None
        learned, asked = folds != fold, folds == fold
        shots = np.bincount(whole.support_labels[learned], minlength=whole.ways)
        return replace(
            whole,
            index=index,
            shots=int(shots[0]) if np.ptp(shots) == 0 else 0,
            support=whole.support[learned],
            support_labels=whole.support_labels[learned],
            query=whole.support[asked],
            query_labels=whole.support_labels[asked],
        )

    @cached_property
    def _whole(self) -> Callable[[int], DrawnTask]:
        """A task with its own copy of the support images; the last one is kept, since its folds follow one another."""

        def draw(task: int) -> DrawnTask:
            found = self.tasks.draw(task)
            return replace(found, support=found.support.copy(), query=found.query[:0])

        return lru_cache(maxsize=1)(draw)


def hits_by_task(results: Sequence[TaskResult]) -> dict[int, list[tuple[int, int]]]:
    """Right answers and answers of each fold, by task."""
    found: dict[int, list[tuple[int, int]]] = {}
    for result in sorted(results, key=lambda result: result.index):
        right = int((result.predictions == result.labels).sum())
        found.setdefault(result.index // FOLDS, []).append((right, len(result.labels)))
    return found
