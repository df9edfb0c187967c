"""The summary of a run: what the leaderboard and the result page show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyshot_scoring.errors import IncompleteRun, ScoringError
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.rules import SeededRun
from anyshot_scoring.table import METRICS, TaskTable


@dataclass(frozen=True)
class Group:
    """Mean and half width (None if undefined) of the score over the tasks that share `key`."""

    key: str | int
    mean: float
    half_width: float | None
    tasks: int


@dataclass(frozen=True)
class RunSummary:
    """The score of one complete run, and its parts.

    `mean` and the groups are in `metric`; `metrics` has one group for each metric over all tasks.
    """

    metric: str
    mean: float
    half_width: float | None
    tasks: int
    by_dataset: tuple[Group, ...]
    by_domain: tuple[Group, ...]
    by_ways: tuple[Group, ...]
    by_shots: tuple[Group, ...]
    metrics: tuple[Group, ...]
    fit_seconds: float
    predict_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; `from_dict` gives an equal summary back."""
        return {
            name: [asdict(group) for group in value] if isinstance(value, tuple) else value
            for name, value in vars(self).items()
        }

    def as_run(self) -> SeededRun:
        """What a ranking rule looks at."""
        return SeededRun(
            self.mean,
            {str(group.key): group.mean for group in self.by_dataset},
            self.half_width,
            {str(group.key): group.half_width for group in self.by_dataset},
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RunSummary:
        """The summary that `to_dict` wrote."""
        values: dict[str, Any] = {
            name: tuple(Group(**group) for group in value) if isinstance(value, list | tuple) else value
            for name, value in data.items()
        }
        return cls(**values)


def summarize(
    table: TaskTable, expected_tasks: int | Iterable[int], metric: str = "normalized_accuracy"
) -> RunSummary:
    """Summarize the per-task results of one complete run.

    `expected_tasks` are the task indices that the run must hold; an integer n stands for 0 to n - 1.
    Raises `IncompleteRun` if a task is missing, double, unexpected, or has NaN as any metric: a run never
    scores on fewer tasks than it was given.
    """
    require_complete(table, expected_tasks)
    _require_metric(metric)
    scores = getattr(table, metric)
    mean, half_width = t_interval(scores)
    return RunSummary(
        metric=metric,
        mean=mean,
        half_width=half_width,
        tasks=len(table),
        by_dataset=group_means(scores, table.dataset),
        by_domain=group_means(scores, table.domain),
        by_ways=group_means(scores, table.ways),
        by_shots=group_means(scores, table.shots),
        metrics=tuple(_group(name, getattr(table, name)) for name in METRICS),
        fit_seconds=float(table.fit_seconds.sum()),
        predict_seconds=float(table.predict_seconds.sum()),
    )


def require_complete(table: TaskTable, expected_tasks: int | Iterable[int]) -> None:
    """Raise `IncompleteRun` unless the table holds each expected task once, with finite metrics."""
    wanted = np.fromiter(
        range(expected_tasks) if isinstance(expected_tasks, int | np.integer) else expected_tasks, np.int64
    )
    if not wanted.size:
        raise ScoringError("A run over no tasks has no score.")
    found, counts = np.unique(table.task, return_counts=True)
    finite = np.isfinite(np.stack([getattr(table, name) for name in METRICS])).all(axis=0)
    missing = np.setdiff1d(wanted, found)
    failed = np.unique(table.task[~finite])
    unexpected = np.union1d(np.setdiff1d(found, wanted), found[counts > 1])
    if missing.size or failed.size or unexpected.size:
        raise IncompleteRun(missing.tolist(), failed.tolist(), unexpected.tolist(), len(wanted))


def group_means(scores: NDArray[np.float64], keys: NDArray[Any]) -> tuple[Group, ...]:
    """One group for each distinct key, in the order of the keys."""
    distinct, where = np.unique(keys, return_inverse=True)
    order = np.argsort(where, kind="stable")
    parts = np.split(scores[order], np.cumsum(np.bincount(where, minlength=len(distinct)))[:-1])
    return tuple(_group(key, part) for key, part in zip(distinct.tolist(), parts, strict=True))


def _group(key: str | int, scores: NDArray[np.float64]) -> Group:
    mean, half_width = t_interval(scores)
    return Group(key, mean, half_width, len(scores))


def _require_metric(metric: str) -> None:
    if metric not in METRICS:
        raise ScoringError(f"There is no metric {metric!r}; there are {', '.join(METRICS)}.")
