"""`predictions.parquet`: one row a task, with the predicted and the true label of each query image."""

from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anyshot_core.results.formats import (
    BadResultsFile,
    Target,
    read_marked,
    require_columns,
    write_marked,
)
from anyshot_core.results.identity import Description, Identity, describe
from anyshot_scoring.predictions import Predictions

KIND = "predictions"
_LISTS = ("predictions", "labels", "classes")
_LABELS = pa.list_(pa.field("item", pa.int32(), nullable=False))
SCHEMA = pa.schema(
    [
        pa.field("task", pa.int64(), nullable=False),
        pa.field("dataset", pa.string(), nullable=False),
        pa.field("domain", pa.string(), nullable=False),
        pa.field("ways", pa.int64(), nullable=False),
        pa.field("shots", pa.int64(), nullable=False),
        pa.field("fit_seconds", pa.float64(), nullable=False),
        pa.field("predict_seconds", pa.float64(), nullable=False),
        *(pa.field(name, _LABELS, nullable=False) for name in _LISTS),
    ]
)


class PredictionsFile(NamedTuple):
    """The predictions and what the run was: `identity` says it in the one schema, `meta` as the file has it."""

    predictions: Predictions
    meta: dict[str, Any]

    @property
    def identity(self) -> Identity:
        """Whose predictions of which run. Raises `BadResultsFile`."""
        return Identity.of(self.meta)


def write_predictions(target: Target, predictions: Predictions, identity: Description) -> None:
    """Write a run's predictions to a path or a binary file; labels must fit into 32 bits."""
    bounds = {
        "predictions": predictions.offsets,
        "labels": predictions.offsets,
        "classes": np.concatenate([[0], np.cumsum(predictions.ways)]),
    }
    arrays = [
        _lists(getattr(predictions, field.name), bounds[field.name])
        if field.name in _LISTS
        else pa.array(getattr(predictions, field.name), type=field.type)
        for field in SCHEMA
    ]
    write_marked(target, pa.Table.from_arrays(arrays, schema=SCHEMA), KIND, describe(identity))


def read_predictions(source: Target) -> PredictionsFile:
    """Read a run's predictions. Raises `BadResultsFile` or `FileNotFoundError`."""
    table, meta = read_marked(source, KIND)
    columns = require_columns(table, SCHEMA).combine_chunks()
    flat = {name: _flatten(columns[name]) for name in _LISTS}
    if not np.array_equal(flat["labels"][1], flat["predictions"][1]):
        raise BadResultsFile("A task does not have as many predictions as labels.")
    ways = columns["ways"].to_numpy()
    if not np.array_equal(np.diff(flat["classes"][1]), ways):
        raise BadResultsFile("A task does not have as many classes as ways.")
    predictions = Predictions(
        task=columns["task"].to_numpy(),
        dataset=_strings(columns["dataset"]),
        domain=_strings(columns["domain"]),
        ways=ways,
        shots=columns["shots"].to_numpy(),
        fit_seconds=columns["fit_seconds"].to_numpy(),
        predict_seconds=columns["predict_seconds"].to_numpy(),
        offsets=flat["labels"][1],
        predictions=flat["predictions"][0],
        labels=flat["labels"][0],
        classes=flat["classes"][0],
    )
    return PredictionsFile(predictions, meta)


def _lists(values: NDArray[np.int64], offsets: NDArray[np.int64]) -> pa.Array:
    items = pa.array(values, type=pa.int64()).cast(pa.int32())  # a checked cast: too large a label raises
    return pa.ListArray.from_arrays(pa.array(offsets, type=pa.int32()), items, type=_LABELS)


def _flatten(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Values and offsets (from 0) of a column of lists."""
    if not column.num_chunks:
        return np.zeros(0, np.int64), np.zeros(1, np.int64)
    lists = cast(pa.ListArray, column.chunk(0))
    offsets = lists.offsets.to_numpy().astype(np.int64)
    return lists.flatten().to_numpy().astype(np.int64), offsets - offsets[0]


def _strings(column: pa.ChunkedArray) -> NDArray[np.str_]:
    return np.asarray(column.to_pylist(), dtype=np.str_) if len(column) else np.zeros(0, "<U1")
