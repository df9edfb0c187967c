"""The columnar table of a run: one row a task, the source of every figure and plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anyshot_scoring.errors import BadTable

METRICS = (
    "normalized_accuracy",
    "balanced_accuracy",
    "accuracy",
    "macro_f1",
    "macro_precision",
    "macro_recall",
)
INTEGERS = ("task", "ways", "shots", "queries")
STRINGS = ("dataset", "domain")
SECONDS = ("fit_seconds", "predict_seconds")


@dataclass(frozen=True)
class TaskTable:
    """Per-task results of one run (or of several, one below the other): equally long one-dimensional columns.

    `queries` counts the query images of the whole task. A task that failed has NaN in its metric columns.
    """

    task: NDArray[np.int64]
    dataset: NDArray[np.str_]
    domain: NDArray[np.str_]
    ways: NDArray[np.int64]
    shots: NDArray[np.int64]
    queries: NDArray[np.int64]
    normalized_accuracy: NDArray[np.float64]
    balanced_accuracy: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    macro_f1: NDArray[np.float64]
    macro_precision: NDArray[np.float64]
    macro_recall: NDArray[np.float64]
    fit_seconds: NDArray[np.float64]
    predict_seconds: NDArray[np.float64]

    def __post_init__(self) -> None:
        shapes = {name: column.shape for name, column in self.columns().items()}
        if len(set(shapes.values())) > 1 or any(len(shape) != 1 for shape in shapes.values()):
            raise BadTable(f"The columns must be one-dimensional and equally long, found {shapes}.")

    def __len__(self) -> int:
        return len(self.task)

    @classmethod
    def from_columns(cls, columns: Mapping[str, ArrayLike]) -> TaskTable:
        """Build a table from arrays or lists by name; other names are ignored.

        Raises `BadTable` for a missing column, or for values that do not fit a column's type.
        """
        missing = [name for name in COLUMNS if name not in columns]
        if missing:
            raise BadTable(f"The table lacks the columns {', '.join(missing)}.")
        return cls(**{name: _convert(name, columns[name]) for name in COLUMNS})

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns by name, in their fixed order, without copying."""
        return {name: getattr(self, name) for name in COLUMNS}

    @classmethod
    def concatenate(cls, tables: Sequence[TaskTable]) -> TaskTable:
        """One table with the rows of all, in order."""
        if not tables:
            raise BadTable("There is no table to concatenate.")
        return cls(**{name: np.concatenate([getattr(t, name) for t in tables]) for name in COLUMNS})

    def select(self, rows: NDArray[Any]) -> TaskTable:
        """The given rows: a boolean mask or integer positions."""
        return TaskTable(**{name: column[rows] for name, column in self.columns().items()})

    def sorted(self) -> TaskTable:
        """The same rows in the order of their task indices (stable)."""
        return self.select(np.argsort(self.task, kind="stable"))


COLUMNS: tuple[str, ...] = tuple(field.name for field in fields(TaskTable))


def _convert(name: str, values: ArrayLike) -> NDArray[Any]:
    """Convert one column to its type; integers must be whole, so that 4.7 ways never becomes 4."""
    array = np.asarray(values)
    try:
        if name in STRINGS:
            return array.astype(np.str_) if array.size else np.zeros(array.shape, "<U1")
        if name in INTEGERS:
            whole = array.astype(np.int64)
            if array.dtype.kind not in "iub" and not np.array_equal(whole, array):
                raise BadTable(f"Column {name} must hold whole numbers.")
            return whole
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadTable(f"Column {name}: {error}") from error
