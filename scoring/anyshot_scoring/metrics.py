"""Metrics of a task, all over the N classes of the task, vectorised over any number of tasks.

With `tp_i` correct, `n_i` query images and `p_i` predictions of class i of an N-way task:

- recall_i = tp_i / n_i; macro recall = balanced accuracy *bac* = mean of recall_i
- normalized accuracy = (bac - 1/N) / (1 - 1/N): 0 is chance, 1 perfect (NeurIPS'22 Cross-Domain MetaDL)
- precision_i = tp_i / p_i, 0 if class i was never predicted; F1_i = 2 tp_i / (n_i + p_i); macro: means over i
- accuracy = sum of tp_i / sum of n_i
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anyshot_scoring.errors import BadPrediction, BadTask


def score_tasks(
    predictions: ArrayLike, labels: ArrayLike, ways: ArrayLike, offsets: ArrayLike
) -> dict[str, NDArray[np.float64]]:
    """Score many tasks at once.

    `predictions` and `labels` are flat integers `[n_queries]`; the queries of task i are
    `[offsets[i], offsets[i + 1])`, so `offsets` is `[n_tasks + 1]`; `ways` is `[n_tasks]`.
    Returns the metric columns of a `TaskTable`, each float64 `[n_tasks]`.

    Raises `BadPrediction` for predictions of a wrong number, type or outside `[0, ways)`, and `BadTask` for
    labels outside `[0, ways)`, fewer than two ways, or a class without query images.
    """
    n_ways, bounds = _integers(ways, "ways", BadTask), _integers(offsets, "offsets", BadTask)
    true, predicted = (
        _integers(labels, "labels", BadTask),
        _integers(predictions, "predictions", BadPrediction),
    )
    check_tasks(predicted, true, n_ways, bounds)
    if not len(n_ways):
        return {name: np.zeros(0) for name in _METRIC_NAMES}
    hits, truth, guesses = count_classes(predicted, true, n_ways, np.diff(bounds))
    class_task = np.repeat(np.arange(len(n_ways)), n_ways)
    if not truth.all():
        cell = int(np.flatnonzero(truth == 0)[0])
        raise BadTask(f"Task {class_task[cell]} has a class without query images.", int(class_task[cell]))
    return _metrics(hits, truth, guesses, n_ways)


def score_task(predictions: ArrayLike, labels: ArrayLike, ways: int) -> dict[str, float]:
    """Score one task: integers `[n_queries]` each; the same metrics and errors as `score_tasks`."""
    try:
        columns = score_tasks(predictions, labels, [ways], [0, np.size(np.asarray(labels))])
    except (BadPrediction, BadTask) as error:
        error.task = None
        raise
    return {name: float(column[0]) for name, column in columns.items()}


def check_tasks(
    predictions: NDArray[Any], labels: NDArray[Any], ways: NDArray[Any], offsets: NDArray[Any]
) -> None:
    """Raise `BadPrediction` or `BadTask` if the shapes do not fit or a label lies outside its task."""
    _check_shape(predictions, labels, ways, offsets)
    sizes = np.diff(offsets)
    _check_range(labels, ways, sizes, offsets, "label", BadTask)
    _check_range(predictions, ways, sizes, offsets, "prediction", BadPrediction)


def count_classes(
    predictions: NDArray[np.int64],
    labels: NDArray[np.int64],
    ways: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count hits, query images and predictions of each class of each task.

    The three results are flat `[sum of ways]`, the classes of task 0 first. Inputs must have been checked.
    """
    first_class = np.cumsum(ways) - ways
    base = np.repeat(first_class, sizes)
    true_cell, n_cells = base + labels, int(ways.sum())
    truth = np.bincount(true_cell, minlength=n_cells)
    guesses = np.bincount(base + predictions, minlength=n_cells)
    hits = np.bincount(true_cell[predictions == labels], minlength=n_cells)
    return hits, truth, guesses


_METRIC_NAMES = (
    "normalized_accuracy",
    "balanced_accuracy",
    "accuracy",
    "macro_f1",
    "macro_precision",
    "macro_recall",
)


def _metrics(
    hits: NDArray[Any], truth: NDArray[Any], guesses: NDArray[Any], ways: NDArray[Any]
) -> dict[str, NDArray[np.float64]]:
    """The metric columns from the three counts of each class of each task."""
    starts = np.cumsum(ways) - ways

    def total(values: NDArray[Any]) -> NDArray[Any]:
        return np.add.reduceat(values, starts)

    recall = total(hits / truth) / ways
    precision = total(hits / np.maximum(guesses, 1)) / ways
    chance = 1.0 / ways
    return {
        "normalized_accuracy": (recall - chance) / (1.0 - chance),
        "balanced_accuracy": recall,
        "accuracy": total(hits) / total(truth),
        "macro_f1": total(2.0 * hits / (truth + guesses)) / ways,
        "macro_precision": precision,
        "macro_recall": recall.copy(),
    }


def _integers(values: ArrayLike, what: str, error: type[BadPrediction] | type[BadTask]) -> NDArray[np.int64]:
    try:
        array = np.asarray(values)
    except ValueError as cause:
        raise error(f"The {what} are not one flat array of integers: {cause}") from cause
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise error(f"The {what} must be integers, found {array.dtype}.")
    if array.ndim != 1:
        raise error(f"The {what} must be one-dimensional, found the shape {array.shape}.")
    if array.dtype == np.uint64 and array.max(initial=0) > np.iinfo(np.int64).max:
        raise error(f"The {what} hold numbers beyond the range of int64.")
    return array.astype(np.int64, copy=False)


def _check_shape(
    predictions: NDArray[Any], labels: NDArray[Any], ways: NDArray[Any], offsets: NDArray[Any]
) -> None:
    steps, queries = len(ways) + 1, len(labels)
    if len(offsets) != steps or offsets[0] != 0 or offsets[-1] != queries or (np.diff(offsets) < 0).any():
        raise BadTask(f"The offsets must rise from 0 to {queries} (the number of labels) in {steps} values.")
    if len(predictions) != len(labels):
        raise BadPrediction(f"There are {len(predictions)} predictions for {len(labels)} query images.")
    if (ways < 2).any():
        task = int(np.flatnonzero(ways < 2)[0])
        raise BadTask(f"Task {task} has {ways[task]} ways; a task has at least two.", task)


def _check_range(
    values: NDArray[Any],
    ways: NDArray[Any],
    sizes: NDArray[Any],
    offsets: NDArray[Any],
    what: str,
    error: type[BadPrediction] | type[BadTask],
) -> None:
    """Refuse values outside `[0, ways)`."""
    # Negative numbers are huge as unsigned ones, so a single comparison is enough.
    bad = values.view(np.uint64) >= np.repeat(ways, sizes).astype(np.uint64)
    if bad.any():
        position = int(np.argmax(bad))
        task = int(np.searchsorted(offsets, position, side="right") - 1)
        where = f"Task {task}: {what} {position - offsets[task]}"
        raise error(f"{where} is {values[position]}, allowed is 0 to {ways[task] - 1}.", task)
