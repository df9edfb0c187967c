"""Submissions side by side on the tasks that they have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anyshot_scoring.errors import ScoringError
from anyshot_scoring.joins import Join
from anyshot_scoring.predictions import ClassTable
from anyshot_scoring.table import METRICS, TaskTable


class NotComparable(ScoringError):
    """Submissions were not run on the same tasks, or a run lacks scores."""


@dataclass(frozen=True)
class ScoreMatrix:
    """Scores of S submissions on the same T tasks, of one or several seeded runs.

    `scores` is `[T, S]`; `task`, `run` (from 0), `dataset` (positions in `datasets`), `ways` and `shots` are `[T]`.
    """

    keys: tuple[str, ...]
    datasets: tuple[str, ...]
    scores: NDArray[np.float64]
    task: NDArray[np.int64]
    run: NDArray[np.int64]
    dataset: NDArray[np.int64]
    ways: NDArray[np.int64]
    shots: NDArray[np.int64]

    @property
    def runs(self) -> int:
        """How many seeded runs there are."""
        return int(self.run.max()) + 1

    def run_means(self) -> NDArray[np.float64]:
        """Mean score of each submission in each run, `[runs, S]`."""
        return np.stack([self.scores[self.run == r].mean(axis=0) for r in range(self.runs)])

    def dataset_means(self) -> NDArray[np.float64]:
        """Mean score of each submission on each dataset over all runs, `[len(datasets), S]`."""
        return np.stack([self.scores[self.dataset == d].mean(axis=0) for d in range(len(self.datasets))])

    def run_dataset_means(self) -> NDArray[np.float64]:
        """Mean score of each submission on each dataset in each run, `[runs, D, S]`; NaN where a run has no tasks."""
        means = np.full((self.runs, len(self.datasets), len(self.keys)), np.nan)
        for run, dataset in set(zip(self.run.tolist(), self.dataset.tolist(), strict=True)):
            rows = (self.run == run) & (self.dataset == dataset)
            means[run, dataset] = self.scores[rows].mean(axis=0)
        return means

    def column(self, key: str) -> NDArray[np.float64]:
        """The scores `[T]` of one submission."""
        return self.scores[:, self.keys.index(key)]

    def select(self, rows: NDArray[Any]) -> ScoreMatrix:
        """The same submissions on some of the tasks."""
        names = ("scores", "task", "run", "dataset", "ways", "shots")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def counting_means(self, join: Join) -> NDArray[np.float64]:
        """Mean of each submission on each dataset over the runs that its figure is made of, `[D, S]`."""
        counting = [np.flatnonzero(join.counting(own)) for own in self.run_means().T.tolist()]
        return np.stack([self._dataset_means(runs, s) for s, runs in enumerate(counting)], axis=1)

    def _dataset_means(self, runs: NDArray[np.int64], column: int) -> NDArray[np.float64]:
        rows = np.isin(self.run, runs)
        sums = np.bincount(self.dataset[rows], self.scores[rows, column], minlength=len(self.datasets))
        return sums / np.maximum(np.bincount(self.dataset[rows], minlength=len(self.datasets)), 1)

    def submissions(self, columns: ArrayLike) -> ScoreMatrix:
        """Some of the submissions, by position and in that order, on the same tasks."""
        chosen = np.asarray(columns)
        return replace(self, keys=tuple(self.keys[c] for c in chosen), scores=self.scores[:, chosen])


@dataclass(frozen=True)
class ClassMatrix:
    """Sums over tasks of the scores of each class, for what depends on the draw of classes.

    K classes, each of one dataset (`dataset` `[K]`, positions as in the `ScoreMatrix`). `sums` `[runs, K, S]`
    adds up normalized recall / N over the tasks with the class, `shares` `[runs, K]` adds up 1 / N, so that a
    class's score is sums / shares, and the mean over a dataset's tasks is the sum of sums / the sum of shares.
    """

    keys: tuple[str, ...]
    datasets: tuple[str, ...]
    class_id: NDArray[np.int64]
    dataset: NDArray[np.int64]
    sums: NDArray[np.float64]
    shares: NDArray[np.float64]

    def scores(self) -> NDArray[np.float64]:
        """Score of each submission on each class over all runs, `[K, S]`."""
        return self.sums.sum(axis=0) / self.shares.sum(axis=0)[:, None]

    def submissions(self, columns: ArrayLike) -> ClassMatrix:
        """Some of the submissions, by position and in that order, on the same classes."""
        chosen = np.asarray(columns)
        return replace(self, keys=tuple(self.keys[c] for c in chosen), sums=self.sums[:, :, chosen])


def align(submissions: Mapping[str, Sequence[TaskTable]], metric: str = "normalized_accuracy") -> ScoreMatrix:
    """Put submissions side by side: for each its runs' tables, the runs in the same order for all.

    Raises `NotComparable` if number of runs, tasks, datasets, ways or shots differ, or a score is not finite.
    """
    if metric not in METRICS:
        raise NotComparable(f"There is no metric {metric!r}.")
    if not submissions:
        raise NotComparable("There is no submission to compare.")
    stacked = {key: _stack(key, runs) for key, runs in submissions.items()}
    first, (reference, run) = next(iter(stacked.items()))
    for key, (table, runs) in stacked.items():
        _require_same(first, reference, run, key, table, runs)
    scores = np.stack([getattr(table, metric) for table, _ in stacked.values()], axis=1)
    if not np.isfinite(scores).all():
        bad = tuple(stacked)[int(np.argmax(~np.isfinite(scores).all(axis=0)))]
        raise NotComparable(f"The submission {bad} has tasks without a score.")
    names, codes = np.unique(reference.dataset, return_inverse=True)
    return ScoreMatrix(
        keys=tuple(stacked),
        datasets=tuple(names.tolist()),
        scores=scores,
        task=reference.task,
        run=run,
        dataset=codes.astype(np.int64),
        ways=reference.ways.astype(np.int64),
        shots=reference.shots.astype(np.int64),
    )


def align_classes(submissions: Mapping[str, Sequence[ClassTable]], matrix: ScoreMatrix) -> ClassMatrix:
    """Add up the scores of each class, for the submissions of `matrix` and in its order.

    Raises `NotComparable` if a submission is missing, or its classes or tasks are not those of the others.
    """
    if set(submissions) != set(matrix.keys):
        raise NotComparable("Predictions by class are needed for each submission, and for no other.")
    first = submissions[matrix.keys[0]]
    if any(not table.known for runs in submissions.values() for table in runs) or len(first) != matrix.runs:
        raise NotComparable("The files do not say which classes the tasks have.")
    names = np.concatenate([table.dataset for table in first])
    ids = np.concatenate([table.class_id for table in first])
    known, dataset = np.unique(names, return_inverse=True)
    if tuple(known.tolist()) != matrix.datasets:
        raise NotComparable("The classes are of other datasets than the tasks.")
    pairs, position = np.unique(np.stack([dataset, ids]), axis=1, return_inverse=True)
    run = np.repeat(np.arange(len(first)), [len(table) for table in first])
    cell, n = run * pairs.shape[1] + position.ravel(), len(first) * pairs.shape[1]
    share = np.concatenate([1.0 / table.ways for table in first])
    shares = np.bincount(cell, share, minlength=n).reshape(len(first), -1)
    sums = [
        np.bincount(cell, share * _class_scores(first, key, submissions[key]), minlength=n)
        for key in matrix.keys
    ]
    return ClassMatrix(
        keys=matrix.keys,
        datasets=matrix.datasets,
        class_id=pairs[1],
        dataset=pairs[0],
        sums=np.stack(sums, axis=-1).reshape(len(first), pairs.shape[1], -1).astype(np.float64),
        shares=shares.astype(np.float64),
    )


def _stack(key: str, runs: Sequence[TaskTable]) -> tuple[TaskTable, NDArray[np.int64]]:
    if not runs or not all(len(table) for table in runs):
        raise NotComparable(f"The submission {key} has no run, or a run without tasks.")
    ordered = [table.sorted() for table in runs]
    return TaskTable.concatenate(ordered), np.repeat(np.arange(len(runs)), [len(table) for table in ordered])


def _require_same(
    first: str, reference: TaskTable, run: NDArray[Any], key: str, table: TaskTable, runs: NDArray[Any]
) -> None:
    if len(table) != len(reference) or not np.array_equal(run, runs):
        raise NotComparable(f"The submissions {first} and {key} do not have the same runs and tasks.")
    for name in ("task", "dataset", "ways", "shots"):
        if not np.array_equal(getattr(table, name), getattr(reference, name)):
            raise NotComparable(f"The submissions {first} and {key} differ in the column {name}.")


def _class_scores(first: Sequence[ClassTable], key: str, runs: Sequence[ClassTable]) -> NDArray[np.float64]:
    if len(runs) != len(first):
        raise NotComparable(f"The submission {key} does not have as many runs as the others.")
    for ours, theirs in zip(first, runs, strict=True):
        for name in ("task", "dataset", "class_id", "ways"):
            if not np.array_equal(getattr(ours, name), getattr(theirs, name)):
                raise NotComparable(f"The submission {key} has other classes or tasks than the others.")
    return np.concatenate([table.normalized_recall() for table in runs])
