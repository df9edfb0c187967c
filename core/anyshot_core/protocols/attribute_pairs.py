"""In-distribution tasks that split tasks, not classes: pairs of attributes, as with the Zappos shoes.

Setlur, Li and Smith, *Two Sides of Meta-Learning Evaluation* (2021), section on in-distribution benchmarks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from anyshot_core.data.pack import Pack
from anyshot_core.data.pool import Pool
from anyshot_core.protocols.draws import Draws
from anyshot_core.protocols.keys import Seed
from anyshot_core.protocols.task import Protocol, ProtocolError, TaskSpec, dataset_in_turn, deal

HAS_BOTH = 0  # label of the images that have both attributes; 1 is "has not both"
LEAST_IMAGES = 20


@dataclass(frozen=True)
class AttributePairs(Protocol):
    """Two-way tasks "has both attributes" against "has not both", uniform over ordered feasible pairs.

    A pair is feasible if `least_images` images have both and as many have not. `among` takes the attributes of
    `all`, or those of the `first` or `second` half of the spectral bipartition. With `distinct_tasks` there are
    only so many tasks, each with one fixed support and query, and task i is number i modulo that. `classes` of a
    task are its two attributes.
    """

    name: ClassVar[str] = "attribute_pairs"
    choices: ClassVar[Mapping[str, Sequence[str]]] = {"among": ("all", "first", "second")}
    divides: ClassVar[bool] = True
    splits_tasks: ClassVar[bool] = True
    shots: int = 5
    query: int = 15
    among: str = "all"
    least_images: int = LEAST_IMAGES
    distinct_tasks: int = 0

    def pairs(self, pack: Pack) -> np.ndarray:
        """Ordered feasible pairs, int64 `[pairs, 2]`."""
        table = attributes(pack)
        together = table.T.astype(np.int64) @ table
        least = max(self.least_images, self.shots + self.query)
        feasible = (together >= least) & (len(table) - together >= least)
        np.fill_diagonal(feasible, False)
        chosen = self._attributes(table)
        return np.array([(a, b) for a in chosen for b in chosen if feasible[a, b]], dtype=np.int64).reshape(
            -1, 2
        )

    def task(self, pool: Pool, seed: Seed, index: int) -> TaskSpec:
        """Draw task `index`: a pair of attributes, and images that have both or not."""
        number = index % self.distinct_tasks if self.distinct_tasks else index
        draws = Draws(self.name, self.among, seed, number)
        dataset = dataset_in_turn(seed, number, range(len(pool)))
        pack = pool[dataset]
        pairs = self.pairs(pack)
        if len(pairs) == 0:
            raise _no_pairs(pack, self.least_images)
        pair = pairs[draws.below(len(pairs))]
        both = attributes(pack)[:, pair].all(axis=1)
        rows = [np.flatnonzero(both), np.flatnonzero(~both)]
        return deal(draws, index, dataset, pair, rows, self.shots, self.query)

    def shown_annotations(self, pack: Pack) -> frozenset[str]:
        """The attributes that its pairs are made of, and no other: those of the other half stay unseen."""
        names = [name for name in pack.annotations if pack.is_binary(name)]
        return frozenset(names[a] for a in self._attributes(attributes(pack)))

    def on_shown(self) -> AttributePairs:
        """Pairs of all attributes that are left."""
        return replace(self, among="all")

    def check(self, pool: Pool) -> None:
        """Every dataset has attributes and a feasible pair."""
        for pack in pool:
            if len(self.pairs(pack)) == 0:
                raise _no_pairs(pack, self.least_images)

    def _attributes(self, table: np.ndarray) -> np.ndarray:
        if self.among == "all":
            return np.arange(table.shape[1])
        return bipartition(table)[self.among == "second"]


def attributes(pack: Pack) -> np.ndarray:
    """The pack's binary annotations, bool `[n, attributes]`, in the order of its columns."""
    columns = [codes.astype(bool) for name, codes in pack.annotations.items() if pack.is_binary(name)]
    if not columns:
        raise ProtocolError(
            f"{pack.name} ({pack.path}): found no attributes. Name columns of 0 and 1 in labels.csv as "
            "annotation_columns in info.json, and pack the dataset again."
        )
    return np.column_stack(columns)


def feasible_pairs(
    table: np.ndarray, least: int = LEAST_IMAGES, among: np.ndarray | None = None
) -> np.ndarray:
    """Ordered pairs of distinct attributes that `least` images have both and `least` have not, int64 `[pairs, 2]`.

    `table` is bool `[n, attributes]`; `among` restricts the attributes.
    """
    together = table.T.astype(np.int64) @ table
    feasible = (together >= least) & (len(table) - together >= least)
    np.fill_diagonal(feasible, False)
    chosen = range(table.shape[1]) if among is None else among
    return np.array([(a, b) for a in chosen for b in chosen if feasible[a, b]], dtype=np.int64).reshape(-1, 2)


def bipartition(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two sets of attributes that occur together as little as possible: the signs of the Fiedler vector.

    The graph's weights are the numbers of images with both attributes, its Laplacian is the symmetric normalised
    one. The set with the first attribute comes first.
    """
    weights = (table.T.astype(np.float64) @ table) * (1 - np.eye(table.shape[1]))
    degree = np.maximum(weights.sum(axis=1), 1e-12)
    laplacian = np.eye(len(weights)) - weights / np.sqrt(np.outer(degree, degree))
    fiedler = np.linalg.eigh(laplacian)[1][:, 1]
    with_first = (fiedler >= 0) == (fiedler[0] >= 0)
    return np.flatnonzero(with_first), np.flatnonzero(~with_first)


def unseen_pairs(
    pool: Pool, train: AttributePairs, train_seed: Seed, test: AttributePairs, test_seed: Seed, tests: int
) -> int:
    """How many of `tests` test tasks ask for a pair, in either order, that no training task has.

    `train` must have a finite number of distinct tasks.
    """
    if not train.distinct_tasks:
        raise ProtocolError(
            "Pairs never seen in training can be counted only for a finite number of training tasks."
        )
    seen = {_pair(task) for task in train.tasks(pool, train_seed, train.distinct_tasks)}
    return sum(_pair(task) not in seen for task in test.tasks(pool, test_seed, tests))


def _pair(task: TaskSpec) -> tuple[int, int, int]:
    first, second = sorted(task.classes.tolist())
    return task.dataset, first, second


def _no_pairs(pack: Pack, least: int) -> ProtocolError:
    return ProtocolError(
        f"{pack.name} ({pack.path}): found no pair of attributes that {least} images have and {least} have not. "
        "Annotate more images, or lower least_images."
    )
