"""The predictions of a run, from which everything else can be computed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anyshot_scoring.errors import BadTable
from anyshot_scoring.metrics import check_tasks, count_classes, score_tasks
from anyshot_scoring.table import TaskTable


@dataclass(frozen=True)
class Predictions:
    """Predicted and true labels of every query image of a run, in the order of the tasks.

    `task`, `dataset`, `domain`, `ways`, `shots`, `fit_seconds`, `predict_seconds` are `[n_tasks]`. `labels`
    and `predictions` are flat; the queries of task i are `[offsets[i], offsets[i + 1])`. `classes` is flat
    too, `[sum of ways]`: which class of the dataset each label of the task stands for, -1 if not known.
    """

    task: NDArray[np.int64]
    dataset: NDArray[np.str_]
    domain: NDArray[np.str_]
    ways: NDArray[np.int64]
    shots: NDArray[np.int64]
    fit_seconds: NDArray[np.float64]
    predict_seconds: NDArray[np.float64]
    offsets: NDArray[np.int64]
    predictions: NDArray[np.int64]
    labels: NDArray[np.int64]
    classes: NDArray[np.int64]

    def __post_init__(self) -> None:
        n = len(self.task)
        columns = (self.dataset, self.domain, self.ways, self.shots, self.fit_seconds, self.predict_seconds)
        if any(column.shape != (n,) for column in columns) or self.offsets.shape != (n + 1,):
            raise BadTable("The columns of the predictions are not equally long.")
        if len(self.classes) != self.ways.sum():
            raise BadTable(f"There are {len(self.classes)} classes for {self.ways.sum()} ways in all.")

    def __len__(self) -> int:
        return len(self.task)

    @classmethod
    def from_tasks(
        cls,
        *,
        task: ArrayLike,
        dataset: Sequence[str],
        domain: Sequence[str],
        ways: ArrayLike,
        shots: ArrayLike,
        predictions: Sequence[ArrayLike],
        labels: Sequence[ArrayLike],
        classes: Sequence[ArrayLike] | None = None,
        fit_seconds: ArrayLike | None = None,
        predict_seconds: ArrayLike | None = None,
    ) -> Predictions:
        """Join one array of predictions, of labels and of classes a task.

        Raises `BadTable` if a task's predictions are not as many as its labels.
        """
        n_ways = np.asarray(ways, dtype=np.int64)
        sizes, given = [np.size(part) for part in labels], [np.size(part) for part in predictions]
        if sizes != given:
            wrong = next(
                (i for i, (a, b) in enumerate(zip(sizes, given, strict=False)) if a != b), len(sizes)
            )
            raise BadTable(f"Task {wrong} does not have as many predictions as labels.")
        unknown = [np.full(n, -1) for n in n_ways]
        return cls(
            task=np.asarray(task, dtype=np.int64),
            dataset=np.asarray(dataset, dtype=np.str_),
            domain=np.asarray(domain, dtype=np.str_),
            ways=n_ways,
            shots=np.asarray(shots, dtype=np.int64),
            fit_seconds=_seconds(fit_seconds, len(n_ways)),
            predict_seconds=_seconds(predict_seconds, len(n_ways)),
            offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            predictions=_join(predictions),
            labels=_join(labels),
            classes=_join(unknown if classes is None else classes),
        )

    def score(self) -> TaskTable:
        """The per-task table. Raises `BadPrediction` or `BadTask` as `score_tasks` does."""
        metrics = score_tasks(self.predictions, self.labels, self.ways, self.offsets)
        return TaskTable(
            task=self.task,
            dataset=self.dataset,
            domain=self.domain,
            ways=self.ways,
            shots=self.shots,
            queries=np.diff(self.offsets),
            fit_seconds=self.fit_seconds,
            predict_seconds=self.predict_seconds,
            **metrics,
        )

    def class_table(self) -> ClassTable:
        """One row for each class of each task, for what depends on the draw of classes.

        Raises `BadPrediction` or `BadTask` as `score_tasks` does.
        """
        check_tasks(self.predictions, self.labels, self.ways, self.offsets)
        hits, truth, _ = count_classes(self.predictions, self.labels, self.ways, np.diff(self.offsets))
        return ClassTable(
            task=np.repeat(self.task, self.ways),
            dataset=np.repeat(self.dataset, self.ways),
            class_id=self.classes,
            ways=np.repeat(self.ways, self.ways),
            correct=hits,
            queries=truth,
        )


@dataclass(frozen=True)
class ClassTable:
    """How often each class of each task was recognised; a class is known by its dataset and `class_id`.

    All columns are `[sum of ways]`; `correct` of the `queries` query images of the class were right.
    """

    task: NDArray[np.int64]
    dataset: NDArray[np.str_]
    class_id: NDArray[np.int64]
    ways: NDArray[np.int64]
    correct: NDArray[np.int64]
    queries: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.task)

    @property
    def known(self) -> bool:
        """Whether every class is identified."""
        return bool(len(self)) and bool((self.class_id >= 0).all())

    def normalized_recall(self) -> NDArray[np.float64]:
        """(recall - 1/N) / (1 - 1/N) of each row; its mean over a task is the task's normalized accuracy."""
        chance = 1.0 / self.ways
        return (self.correct / self.queries - chance) / (1.0 - chance)


def _seconds(values: ArrayLike | None, n: int) -> NDArray[np.float64]:
    return np.zeros(n) if values is None else np.asarray(values, dtype=np.float64)


def _join(parts: Sequence[ArrayLike]) -> NDArray[np.int64]:
    return (
        np.concatenate([np.asarray(part, np.int64) for part in parts])
        if len(parts)
        else np.zeros(0, np.int64)
    )
