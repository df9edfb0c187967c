"""Tasks and batches with their pixels: gathering, prefetching, conversion to tensors. Importing it needs no torch."""

from anyshot_starting_kit.episodes.arrays import TaskArrays, gather, gather_rows
from anyshot_starting_kit.episodes.stream import TaskTensors, stream, stream_tensors
from anyshot_starting_kit.episodes.tensors import to_float
from anyshot_starting_kit.episodes.train import BatchArrays, Batches, batches, train_tasks

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
