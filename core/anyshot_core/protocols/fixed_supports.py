"""FIX-ML: before training, each class gets its one support set for good.

Setlur, Li and Smith, *Is Support Set Diversity Necessary for Meta-Learning?* and *Lessons from Chasing Few-Shot
Learning Benchmarks: Rethinking the Evaluation of Meta-Learning Methods*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from anyshot_core.data.pack import Pack
from anyshot_core.data.pool import Pool
from anyshot_core.protocols.any_way_any_shot import FIVE
from anyshot_core.protocols.base_novel import BASE_VALID_NOVEL, base_rows, images_of
from anyshot_core.protocols.draws import Draws
from anyshot_core.protocols.keys import Seed
from anyshot_core.protocols.splits import split_classes
from anyshot_core.protocols.task import (
    Protocol,
    Range,
    TaskSpec,
    assemble,
    dataset_in_turn,
    require_classes,
    require_images,
)


@dataclass(frozen=True)
class FixedSupports(Protocol):
    """Training tasks of base classes whose support never changes; validation and test tasks are not fixed.

    `fix_seed` draws, once, `shots` of a class's training images as its only support. The query comes from the `rest` of
    them, or from `all`, support included, as the paper has it.
    """

    name: ClassVar[str] = "fixed_supports"
    choices: ClassVar[Mapping[str, Sequence[str]]] = {"query_from": ("rest", "all")}
    divides: ClassVar[bool] = True
    ways: Range = FIVE
    shots: int = 5
    query: int = 15
    query_from: str = "rest"
    shares: tuple[float, ...] = BASE_VALID_NOVEL
    held_back: float = 0.2
    split_seed: Seed = 0
    fix_seed: Seed = 0

    def support(self, pack: Pack, c: int) -> np.ndarray:
        """The one support set of a class, int64 `[shots]`."""
        return Draws("fixed support", self.fix_seed, pack.name, c).pick(self._trained(pack, c), self.shots)

    def task(self, pool: Pool, seed: Seed, index: int) -> TaskSpec:
        """Task `index`: classes and query are drawn, supports are what they are."""
        draws = Draws(self.name, seed, index)
        dataset = dataset_in_turn(seed, index, range(len(pool)))
        pack = pool[dataset]
        base = self._base(pool, dataset)
        classes = draws.pick(base, self.ways.capped(len(base), least=2).draw(draws))
        supports = [self.support(pack, c) for c in classes]
        rows = [self._query_rows(pack, c, own) for c, own in zip(classes, supports, strict=True)]
        return assemble(draws, index, dataset, classes, np.stack(supports), draws.pick_each(rows, self.query))

    def shown_rows(self, pack: Pack) -> np.ndarray:
        """The trained images of the base classes."""
        return base_rows(pack, self.shares, self.held_back, self.split_seed)

    def on_shown(self) -> FixedSupports:
        """Every class that is left is a base class, every image a trained one."""
        return replace(self, shares=(1.0, 0.0, 0.0), held_back=0.0, split_seed=0)

    def check(self, pool: Pool) -> None:
        """Every dataset has enough base classes with enough training images."""
        for dataset in range(len(pool)):
            self._base(pool, dataset)

    def _trained(self, pack: Pack, c: int) -> np.ndarray:
        return images_of(pack, c, "trained", self.held_back, self.split_seed)

    def _query_rows(self, pack: Pack, c: int, support: np.ndarray) -> np.ndarray:
        trained = self._trained(pack, c)
        return np.setdiff1d(trained, support) if self.query_from == "rest" else trained

    def _base(self, pool: Pool, dataset: int) -> np.ndarray:
        base = split_classes(pool[dataset], self.shares, self.split_seed)[0]
        require_classes(pool, dataset, len(base), self.ways.low, "base classes")
        fewest = min(len(self._trained(pool[dataset], c)) for c in base)
        shots = self.shots if self.query_from == "rest" else max(self.shots - self.query, 0)
        require_images(pool, dataset, fewest, shots, self.query, "training images in a class")
        return base
