"""Whether a worker's score can be true: within the bounds of its metric, and what its own files of results say.

Predictions come back with the labels of their query images: what a worker says of a run is computed again from the
answers to each task, and from its table of results, before it counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

import numpy as np

from anyshot_core.results import read_predictions, read_results
from anyshot_platform.kernel.storage import Storage
from anyshot_platform.scores.wholes import summarize_whole
from anyshot_scoring.errors import ScoringError
from anyshot_scoring.summary import Group, RunSummary, summarize
from anyshot_scoring.table import METRICS, TaskTable

RESULTS, PREDICTIONS = "results.parquet", "predictions.parquet"
CLOSE = 1e-9  # two ways to add the same numbers up


class WrongResult(Exception):
    """What a worker handed in does not fit together; the text says what, for operators."""


Open = Callable[[str], BinaryIO]


def verify(summary: RunSummary, expected_tasks: int, files: dict[str, str], storage: Storage) -> None:
    """Check a run's summary against its bounds and its files, `files` being digests by name; raises `WrongResult`."""
    verify_files(summary, expected_tasks, files, storage.open)


def verify_files(summary: RunSummary, expected_tasks: int, files: dict[str, str], open_file: Open) -> None:
    """As `verify`, for files that `open_file` finds by what `files` calls them.

    Raises:
        WrongResult: it is over other tasks, outside the metric's bounds, or not what the files say.
    """
    if summary.tasks != expected_tasks:
        raise WrongResult(f"The summary is over {summary.tasks} tasks, and the run has {expected_tasks}.")
    _verify_bounds(summary)
    if RESULTS in files:
        table = read_table(files, open_file)
        _verify_rows(table)
        _compare(summary, table)


def verify_whole(summary: RunSummary, results: str, predictions: Sequence[str], open_file: Open) -> None:
    """As `verify_files`, for a run of parts: the table is that of the whole, the predictions are of each part.

    Tasks that are missing are those of a dataset that the code failed on.
    """
    _verify_bounds(summary)
    table = _read_results(results, open_file)
    if predictions:
        _verify_scores(table, predictions, open_file)
    _verify_rows(table)
    if len(table) > summary.tasks:
        raise WrongResult(f"{RESULTS} has {len(table)} tasks, and the run {summary.tasks}.")
    _compare(summary, table, of_parts=True)


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


def read_table(files: dict[str, str], open_file: Open) -> TaskTable:
    """The rows of a run's tasks, where its predictions say the same; raises `WrongResult`."""
    table = _read_results(files[RESULTS], open_file)
    if PREDICTIONS in files:
        _verify_scores(table, [files[PREDICTIONS]], open_file)
    return table


def _read_results(name: str, open_file: Open) -> TaskTable:
    try:
        with open_file(name) as file:
            return read_results(file).table
    except (ScoringError, OSError, ValueError) as error:
        raise WrongResult(f"{RESULTS} cannot be read: {error}") from error


def _verify_scores(table: TaskTable, names: Sequence[str], open_file: Open) -> None:
    """Score the predictions again, and compare task by task."""
    parts = [_score_again(name, open_file) for name in names]
    again = parts[0] if len(parts) == 1 else TaskTable.concatenate(parts).sorted()
    if not np.array_equal(again.task, table.task):
        raise WrongResult(f"{PREDICTIONS} has answers to other tasks than {RESULTS}.")
    for metric in METRICS:
        different = ~np.isclose(getattr(again, metric), getattr(table, metric), rtol=0, atol=CLOSE)
        if different.any():
            task = int(table.task[different][0])
            raise WrongResult(f"{metric} of task {task} is not what its predictions score.")


def _score_again(name: str, open_file: Open) -> TaskTable:
    try:
        with open_file(name) as file:
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


def _compare(summary: RunSummary, table: TaskTable, *, of_parts: bool = False) -> None:
    """The summary is that of the table; the table holds each of its tasks once."""
    try:
        if of_parts:
            again = summarize_whole(table, summary.tasks)
        else:
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
