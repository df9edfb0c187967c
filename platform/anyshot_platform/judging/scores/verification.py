"""Whether a worker's score can be true: within the bounds of its metric, and what its own files of results say.

Predictions come back with the labels of their query images: what a worker says of a run is computed again from the
answers to each task, and from its table of results, before it counts.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from anyshot_core.results import read_predictions, read_results
from anyshot_platform.foundation.storage import Storage
from anyshot_scoring.errors import ScoringError
from anyshot_scoring.summary import Group, RunSummary, summarize
from anyshot_scoring.table import METRICS, TaskTable

RESULTS, PREDICTIONS = "results.parquet", "predictions.parquet"
CLOSE = 1e-9  # two ways to add the same numbers up


class WrongResult(Exception):
    """What a worker handed in does not fit together; the text says what, for operators."""


def verify(summary: RunSummary, expected_tasks: int, files: dict[str, str], storage: Storage) -> None:
    """Check a run's summary against its bounds and its files, `files` being digests by name.

    Raises:
        WrongResult: it is over other tasks, outside the metric's bounds, or not what the files say.
    """
    if summary.tasks != expected_tasks:
        raise WrongResult(f"The summary is over {summary.tasks} tasks, and the run has {expected_tasks}.")
    _verify_bounds(summary)
    if RESULTS in files:
        table = read_table(files, storage)
        _verify_rows(table)
        _compare(summary, table)


def _verify_bounds(summary: RunSummary) -> None:
    for what, value, low in _values(summary):
        if not low <= value <= 1.0:  # NaN is outside, too
            raise WrongResult(f"{what} is {value}, and can only be from {low:g} to 1.")
    if summary.half_width is not None and not 0.0 <= summary.half_width < math.inf:
        raise WrongResult(f"The interval's half width is {summary.half_width}, and can only be 0 or more.")


def _values(summary: RunSummary) -> Iterator[tuple[str, float, float]]:
    """Each mean with its name and lowest possible value."""
    low = _lowest(summary.metric)
    yield "The score", summary.mean, low
    for groups in (summary.by_dataset, summary.by_domain, summary.by_ways, summary.by_shots):
        yield from ((f"The mean of {group.key}", group.mean, low) for group in groups)
    yield from ((str(group.key), group.mean, _lowest(str(group.key))) for group in summary.metrics)


def _lowest(metric: str) -> float:
    return -1.0 if metric == "normalized_accuracy" else 0.0  # two classes, all wrong: (0 - 1/2) / (1 - 1/2)


def read_table(files: dict[str, str], storage: Storage) -> TaskTable:
    """The rows of a run's tasks, where its predictions say the same; raises `WrongResult`."""
    table = _read_results(files[RESULTS], storage)
    if PREDICTIONS in files:
        _verify_scores(table, [files[PREDICTIONS]], storage)
    return table


def _read_results(name: str, storage: Storage) -> TaskTable:
    try:
        with storage.open(name) as file:
            return read_results(file).table
    except (ScoringError, OSError, ValueError) as error:
        raise WrongResult(f"{RESULTS} cannot be read: {error}") from error


def _verify_scores(table: TaskTable, names: Sequence[str], storage: Storage) -> None:
    """Score the predictions again, and compare task by task."""
    parts = [_score_again(name, storage) for name in names]
    again = parts[0] if len(parts) == 1 else TaskTable.concatenate(parts).sorted()
    if not np.array_equal(again.task, table.task):
        raise WrongResult(f"{PREDICTIONS} has answers to other tasks than {RESULTS}.")
    for metric in METRICS:
        different = ~np.isclose(getattr(again, metric), getattr(table, metric), rtol=0, atol=CLOSE)
        if different.any():
            task = int(table.task[different][0])
            raise WrongResult(f"{metric} of task {task} is not what its predictions score.")


def _score_again(name: str, storage: Storage) -> TaskTable:
    try:
        with storage.open(name) as file:
            return read_predictions(file).predictions.score()
    except (ScoringError, OSError, ValueError) as error:
        raise WrongResult(f"{PREDICTIONS} cannot be scored: {error}") from error


def _verify_rows(table: TaskTable) -> None:
    lowest = -1.0 / (np.maximum(table.ways, 2) - 1)
    wrong = ~((table.normalized_accuracy >= lowest - CLOSE) & (table.normalized_accuracy <= 1 + CLOSE))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise WrongResult(
            f"Task {table.task[row]} of {table.ways[row]} ways has the normalized accuracy "
            f"{table.normalized_accuracy[row]}, and can only have {lowest[row]:g} to 1."
        )


def _compare(summary: RunSummary, table: TaskTable) -> None:
    """The summary is that of the table; the table holds each of its tasks once."""
    try:
        again = summarize(table, np.unique(table.task).tolist(), summary.metric)
    except ScoringError as error:
        raise WrongResult(f"{RESULTS} has no score: {error}") from error
    for name in ("tasks", "mean", "half_width", "by_dataset", "by_ways", "by_shots"):
        if not _same(getattr(summary, name), getattr(again, name)):
            raise WrongResult(f"The summary's {name} is not that of {RESULTS}.")


def _same(one: object, two: object) -> bool:
    if isinstance(one, tuple) and isinstance(two, tuple):
        return len(one) == len(two) and all(_same(a, b) for a, b in zip(one, two, strict=True))
    if isinstance(one, Group) and isinstance(two, Group):
        return str(one.key) == str(two.key) and one.tasks == two.tasks and _same(one.mean, two.mean)
    if one is None or two is None:  # an interval that is not defined
        return one is two
    return math.isclose(float(one), float(two), rel_tol=0, abs_tol=CLOSE)  # pyright: ignore[reportArgumentType]
