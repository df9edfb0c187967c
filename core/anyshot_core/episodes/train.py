"""Supplies for meta-training: tasks that start again at each call, batches that go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from anyshot_core.data.pool import Pool
from anyshot_core.episodes.prefetch import PrefetchSlot, prefetch
from anyshot_core.protocols.draws import Draws
from anyshot_core.protocols.task import Protocol, TaskSpec


@dataclass(frozen=True)
class BatchArrays:
    """Images uint8 `[b, 3, 128, 128]`; labels int64 `[b]`, numbers in the concatenation of the pool's classes."""

    images: np.ndarray
    labels: np.ndarray


def train_tasks(pool: Pool, protocol: Protocol, seed: int | bytes) -> Callable[[int], Iterator[TaskSpec]]:
    """A function of a count that yields so many tasks; every call starts again and yields the same tasks."""
    return lambda count: protocol.tasks(pool, seed, count)


def batches(pool: Pool, batch_size: int, seed: int, *, ahead: int = 0, reuse: bool = False) -> Batches:
    """A function of a count that yields so many batches, going on from call to call; see `Batches`."""
    return Batches(pool, batch_size, seed, ahead=ahead, reuse=reuse)


class Batches:
    """One shuffled cycle over all images of a pool, each pass shuffled anew; its last batch can be smaller.

    Classes are numbered through: those of the first dataset, then those of the second, and so on. With `ahead`, a
    thread reads so many batches before they are asked for; with `reuse`, a batch is valid until the next one is
    asked for. A consumer that stops early finds the next batch where it stopped.
    """

    def __init__(
        self, pool: Pool, batch_size: int, seed: int, *, ahead: int = 0, reuse: bool = False
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1; found {batch_size}")
        self.pool = pool
        self.batch_size = batch_size
        self.seed = seed
        self.position = 0  # number of the next batch
        self._ahead = ahead
        self._reuse = reuse
        self._starts = np.cumsum([0] + [len(pack) for pack in pool])
        self._first_classes = np.cumsum([0] + [len(pack.classes) for pack in pool])
        self._order = lru_cache(maxsize=2)(self._draw_order)

    @property
    def total_classes(self) -> int:
        """Number of classes of all datasets."""
        return int(self._first_classes[-1])

    @property
    def batches_a_pass(self) -> int:
        """Number of batches until every image was seen once."""
        return -(-int(self._starts[-1]) // self.batch_size)

    def __call__(self, count: int) -> Iterator[BatchArrays]:
        """The next `count` batches."""
        numbers = range(self.position, self.position + count)
        if self._ahead == 0:
            made = (self._read(number, PrefetchSlot()) for number in numbers)
        else:
            made = prefetch(numbers, self._read, ahead=self._ahead, threads=1, reuse=self._reuse)
        for batch in made:
            self.position += 1
            yield batch

    def _draw_order(self, turn: int) -> np.ndarray:
        return Draws("batches", self.seed, turn).order(int(self._starts[-1]))

    def rows(self, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """As a call, but with rows int64 `[b]` of the concatenated packs in place of the images."""
        for number in range(self.position, self.position + count):
            rows = self._rows(number)
            self.position += 1
            yield rows, self._labels(rows)

    def _rows(self, number: int) -> np.ndarray:
        turn, place = divmod(number, self.batches_a_pass)
        return self._order(turn)[place * self.batch_size : (place + 1) * self.batch_size]

    def _labels(self, rows: np.ndarray) -> np.ndarray:
        return np.array(
            [self._first_classes[at] + self.pool[at].labels[own] for at, own in self._places(rows)]
        )

    def _places(self, rows: np.ndarray) -> Iterator[tuple[int, int]]:
        """Of each row its dataset, and its row there."""
        datasets = np.searchsorted(self._starts, rows, side="right") - 1
        return zip(datasets.tolist(), (rows - self._starts[datasets]).tolist(), strict=True)

    def _read(self, number: int, slot: PrefetchSlot) -> BatchArrays:
        rows = self._rows(number)
        images = slot.images(len(rows))
        for image, (dataset, own) in zip(images, self._places(rows), strict=True):
            self.pool[dataset].read_row(own, image.reshape(-1).data)
        return BatchArrays(images, self._labels(rows))
