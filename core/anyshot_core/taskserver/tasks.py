"""The hidden tasks of a phase, drawn when they are due."""

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from anyshot_core.data.images import IMAGE_SHAPE
from anyshot_core.data.pool import Pool
from anyshot_core.episodes.memory import Memory
from anyshot_core.protocols import Protocol, TaskSpec
from anyshot_core.protocols.keys import Seed
from anyshot_core.protocols.legacy import Legacy
from anyshot_core.protocols.task import tasks_of_dataset
from anyshot_core.taskserver.job import DrawnTask, TaskResult, TaskSource


@dataclass(frozen=True)
class PoolTasks:
    """Tasks `start` to `stop` - 1 of a protocol on a pool; with `dataset`, those of them that are of that dataset.

    A dataset can be chosen where the protocol splits datasets: there, each has its turn (`dataset_in_turn`).
    """

    pool: Pool
    protocol: Protocol
    seed: Seed
    start: int
    stop: int
    dataset: int | None = None
    _memory: Memory = field(default_factory=Memory, init=False, repr=False, compare=False)

    @property
    def indices(self) -> Sequence[int]:
        """The indices of the tasks, ascending."""
        return self._indices

    @cached_property
    def _indices(self) -> Sequence[int]:
        every = range(self.start, self.stop)
        if self.dataset is None:
            return every
        return tasks_of_dataset(self.seed, every, len(self.pool), self.dataset)

    @property
    def seeds_tasks(self) -> bool:
        """Whether random numbers of participants' code start anew with each task: in the kit of 2022 they run on."""
        return not isinstance(self.protocol, Legacy)

    def spec(self, index: int) -> TaskSpec:
        """Which classes and images make up the task of that index."""
        return self.protocol.task(self.pool, self.seed, index)

    def draw(self, index: int) -> DrawnTask:
        spec = self.spec(index)
        pixels = self._memory.array((len(spec.rows), *IMAGE_SHAPE))
        self.pool[spec.dataset].read_rows(spec.rows, pixels)
        return DrawnTask(
            index=index,
            dataset=spec.dataset,
            ways=spec.ways,
            shots=spec.shots,
            support=pixels[: len(spec.support)],
            support_labels=spec.support_labels,
            query=pixels[len(spec.support) :],
            query_labels=spec.query_labels,
            seeded=self.seeds_tasks,
        )


@dataclass(frozen=True)
class JoinedTasks:
    """Several sources as one, so that one learner answers all of them in one job: indices count through the parts."""

    parts: tuple[TaskSource, ...]

    @property
    def indices(self) -> Sequence[int]:
        """From 0 to the number of all tasks."""
        return range(self._ends[-1])

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(len(part.indices) for part in self.parts))

    def _place(self, index: int) -> tuple[int, int]:
        """The part, and the index in it."""
        part = bisect_right(self._ends, index)
        return part, self.parts[part].indices[index - (self._ends[part - 1] if part else 0)]

    def draw(self, index: int) -> DrawnTask:
        """A task as its part has it, with its index there: what follows from an index is what it is in a job alone."""
        part, own = self._place(index)
        return self.parts[part].draw(own)

    def begins_part(self, index: int) -> bool:
        """Whether it is the first task of a part after the first."""
        return index in self._ends[:-1]

    def split(self, results: Sequence[TaskResult]) -> list[list[TaskResult]]:
        """The answers to each part, of answers in the order of the tasks; the last of them may be missing."""
        starts = [0, *self._ends]
        return [list(results[start:stop]) for start, stop in pairwise(starts)]


def task_seed(train_seed: int, index: int) -> int:
    """What the random numbers of participants' code start from in a task, 63 bits: wherever and whenever it is met."""
    key = hashlib.sha256(f"task {index} of a run with the training seed {train_seed}".encode()).digest()
    return int.from_bytes(key[:8], "big") >> 1


def query_order(secret: bytes, index: int, count: int) -> np.ndarray:
    """The secret order in which a task's query is shown, int64 [count]; a pure function of secret and index."""
    key = hashlib.sha256(b"query order" + index.to_bytes(8, "big") + secret).digest()
    words = np.frombuffer(hashlib.shake_256(key).digest(8 * count), dtype="<u8")
    return np.argsort(words, kind="stable").astype(np.int64)
