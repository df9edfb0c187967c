"""Tasks with their pixels, as arrays: one by one, in a row, and as batches for meta-training."""

from anyshot_core.episodes.arrays import TaskArrays, gather, gather_rows
from anyshot_core.episodes.stream import stream
from anyshot_core.episodes.train import BatchArrays, Batches, batches, train_tasks

__all__ = [
    "BatchArrays",
    "Batches",
    "TaskArrays",
    "batches",
    "gather",
    "gather_rows",
    "stream",
    "train_tasks",
]
