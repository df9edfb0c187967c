"""Tasks by writer, as with FEMNIST's handwritten characters: in-distribution tasks that split writers, not classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from anyshot_core.data.pack import Pack
from anyshot_core.data.pool import Pool
from anyshot_core.protocols.draws import Draws
from anyshot_core.protocols.keys import Seed
from anyshot_core.protocols.splits import PARTS, split_writers
from anyshot_core.protocols.task import Protocol, ProtocolError, TaskSpec, dataset_in_turn

FEMNIST_WRITERS = (2509.0, 538.0, 538.0)


@dataclass(frozen=True)
class Writers(Protocol):
    """One writer a task: as many ways as the writer has classes with two images, one shot, all other images as query.

    Writers are split as FEMNIST's 2,509 / 538 / 538. Every writer of the part comes once before any comes again.
    """

    name: ClassVar[str] = "writers"
    choices: ClassVar[Mapping[str, Sequence[str]]] = {"part": PARTS}
    divides: ClassVar[bool] = True
    column: str = "WRITER"
    part: str = "meta_test"
    sizes: tuple[float, ...] = FEMNIST_WRITERS
    split_seed: Seed = 0

    def writers(self, pack: Pack) -> np.ndarray:
        """Numbers of the part's writers that have two classes with two images each."""
        codes = self._codes(pack)
        parts = split_writers(int(codes.max()) + 1, self.sizes, self.split_seed)
        able = [
            writer for writer in parts[PARTS.index(self.part)] if len(_classes(pack, codes == writer)) >= 2
        ]
        if not able:
            raise ProtocolError(
                f"{pack.name} ({pack.path}): found no writer in {self.part} with two classes of two images."
            )
        return np.array(able, dtype=np.int64)

    def task(self, pool: Pool, seed: Seed, index: int) -> TaskSpec:
        """Task `index`; shots are 1, the query is unbalanced."""
        draws = Draws(self.name, self.part, seed, index)
        dataset = dataset_in_turn(seed, index, range(len(pool)))
        pack = pool[dataset]
        writer = dataset_in_turn(seed, index // len(pool), self.writers(pack).tolist())
        own = self._codes(pack) == writer
        classes = draws.pick(_classes(pack, own), len(_classes(pack, own)))
        rows = [
            own_rows[draws.permutation(len(own_rows))] for own_rows in (_rows(pack, own, c) for c in classes)
        ]
        return _unbalanced(draws, index, dataset, classes, rows)

    def shown_rows(self, pack: Pack) -> np.ndarray:
        """All images by the writers of its part."""
        codes = self._codes(pack)
        parts = split_writers(int(codes.max()) + 1, self.sizes, self.split_seed)
        return np.flatnonzero(np.isin(codes, parts[PARTS.index(self.part)]))

    def on_shown(self) -> Writers:
        """Tasks of all writers that are left."""
        return replace(self, sizes=(1.0, 0.0, 0.0), part="meta_train", split_seed=0)

    def check(self, pool: Pool) -> None:
        """Every dataset names its writers, and enough of them."""
        for pack in pool:
            self.writers(pack)

    def _codes(self, pack: Pack) -> np.ndarray:
        if self.column not in pack.annotations:
            raise ProtocolError(
                f"{pack.name} ({pack.path}): found no column {self.column!r}. Name it in annotation_columns of "
                "info.json, and pack the dataset again."
            )
        return pack.annotations[self.column]


def _classes(pack: Pack, own: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.bincount(pack.labels[own], minlength=len(pack.classes)) >= 2)


def _rows(pack: Pack, own: np.ndarray, c: int) -> np.ndarray:
    return np.flatnonzero(own & (pack.labels == c))


def _unbalanced(
    draws: Draws, index: int, dataset: int, classes: np.ndarray, rows: list[np.ndarray]
) -> TaskSpec:
    labels = np.arange(len(classes), dtype=np.int64)
    support = np.array([own[0] for own in rows], dtype=np.int64)
    query = np.concatenate([own[1:] for own in rows])
    query_labels = labels.repeat([len(own) - 1 for own in rows])
    first, second = draws.permutation(len(support)), draws.permutation(len(query))
    return TaskSpec(
        index=index,
        dataset=dataset,
        ways=len(classes),
        shots=1,
        classes=classes,
        support=support[first],
        support_labels=labels[first],
        query=query[second],
        query_labels=query_labels[second],
    )
