"""Tasks and batches with their pixels, for participants: as arrays and as tensors. Importing it needs no torch."""

from anyshot_core.episodes import (
    BatchArrays,
    Batches,
    TaskArrays,
    batches,
    gather,
    gather_rows,
    stream,
    train_tasks,
)
from anyshot_starting_kit.episodes.tensors import TaskTensors, stream_tensors, to_float

__all__ = [
    "BatchArrays",
    "Batches",
    "TaskArrays",
    "TaskTensors",
    "batches",
    "gather",
    "gather_rows",
    "stream",
    "stream_tensors",
    "to_float",
    "train_tasks",
]
