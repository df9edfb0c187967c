"""Which classes of a dataset a learner takes for which others, over all tasks of a run."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyshot_scoring.metrics import check_tasks
from anyshot_scoring.predictions import Predictions


@dataclass(frozen=True)
class Confusion:
    """Counts over the query images of a dataset's tasks; rows are true classes, columns predicted ones.

    `classes` `[C]` are the dataset's class numbers, ascending. `counts[i, j]` images of class i were taken for class j;
    `together[i, j]` images of class i stood in a task that class j was in too, and so could have been. All int64.
    """

    dataset: str
    tasks: int
    classes: NDArray[np.int64]
    counts: NDArray[np.int64]
    together: NDArray[np.int64]

    @property
    def right(self) -> float:
        """The share of the query images that were predicted right; 0 of none."""
        return float(np.trace(self.counts) / max(self.counts.sum(), 1))

    def rates(self) -> NDArray[np.float64]:
        """`[C, C]`: of the images of class i in tasks with class j, the share taken for j; NaN where they never met."""
        met = self.together > 0
        return np.divide(self.counts, self.together, out=np.full(met.shape, np.nan), where=met)

    def mistakes(self) -> list[tuple[int, int]]:
        """Positions (true, predicted) of the mistakes that were made, most frequent by rate first."""
        rates = np.nan_to_num(self.rates())
        np.fill_diagonal(rates, 0.0)
        order = np.argsort(-rates, axis=None, kind="stable")[: int((rates > 0).sum())]
        return [(int(i), int(j)) for i, j in zip(*np.unravel_index(order, rates.shape), strict=True)]


def confusion_by_dataset(runs: Sequence[Predictions]) -> tuple[Confusion, ...]:
    """The confusion of each dataset over all tasks of all runs, in the order of the datasets' names.

    Tasks whose classes are not known are left out. Raises `BadPrediction` or `BadTask` as `score_tasks` does.
    """
    for run in runs:
        check_tasks(run.predictions, run.labels, run.ways, run.offsets)
    names = sorted({str(name) for run in runs for name in run.dataset})
    made = [_of_dataset(name, [task for run in runs for task in _tasks(run, name)]) for name in names]
    return tuple(confusion for confusion in made if confusion.tasks)


Task = tuple[NDArray[np.int64], NDArray[np.int64]]  # its classes [N], and its own confusion [N, N]


def _tasks(run: Predictions, dataset: str) -> list[Task]:
    first_class = np.concatenate([[0], np.cumsum(run.ways)])
    tasks = []
    for i in np.flatnonzero(run.dataset == dataset):
        classes = run.classes[first_class[i] : first_class[i + 1]]
        if (classes < 0).any():
            continue
        queries = slice(run.offsets[i], run.offsets[i + 1])
        cells = confusion_of_task(run.labels[queries], run.predictions[queries], int(run.ways[i]))
        tasks.append((classes, cells))
    return tasks


def confusion_of_task(
    labels: NDArray[np.int64], predictions: NDArray[np.int64], ways: int
) -> NDArray[np.int64]:
    """Query images of a task `[ways, ways]` by true (row) and predicted label; both `[q]` in [0, ways)."""
    return np.bincount(labels * ways + predictions, minlength=ways * ways).reshape(ways, ways)


def _of_dataset(name: str, tasks: list[Task]) -> Confusion:
    classes = np.unique(np.concatenate([task[0] for task in tasks] or [np.zeros(0, np.int64)]))
    counts = np.zeros((len(classes), len(classes)), np.int64)
    together = np.zeros_like(counts)
    for own, cells in tasks:
        here = np.ix_(*(np.searchsorted(classes, own),) * 2)
        counts[here] += cells
        together[here] += cells.sum(axis=1)[:, None]
    return Confusion(name, len(tasks), classes, counts, together)
