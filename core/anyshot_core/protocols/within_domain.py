"""Within-domain N-way k-shot tasks with a class split, as in the NeurIPS'21 MetaDL competition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anyshot_core.data.pack import Pack
from anyshot_core.data.pool import Pool
from anyshot_core.protocols.any_way_any_shot import FIVE, AnyWayAnyShot
from anyshot_core.protocols.draws import Draws
from anyshot_core.protocols.keys import Seed
from anyshot_core.protocols.splits import CLASS_SPLITS, PARTS, require_part, split_classes
from anyshot_core.protocols.task import (
    Protocol,
    Range,
    TaskSpec,
    dataset_in_turn,
    deal,
    require_classes,
    require_images,
)


@dataclass(frozen=True)
class WithinDomain(Protocol):
    """The classes of each dataset are split; a task's classes come from one part of one dataset.

    Give a pool of a single pack to train and test dataset by dataset. `split` is `halves`, `70/15/15` or `64/16/20`;
    `split_seed` decides which class is where, and must be the same for all parts.
    """

    name: ClassVar[str] = "within_domain"
    choices: ClassVar[Mapping[str, Sequence[str]]] = {"split": tuple(CLASS_SPLITS), "part": PARTS}
    splits_datasets: ClassVar[bool] = True
    divides: ClassVar[bool] = True
    ways: Range = FIVE
    shots: Range = FIVE
    query: int = 20
    split: str = "halves"
    part: str = "meta_test"
    split_seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        parts = zip(PARTS, CLASS_SPLITS[self.split], strict=True)
        require_part(self.part, [part for part, share in parts if share > 0])

    def classes(self, pool: Pool, dataset: int) -> np.ndarray:
        """The classes of the part, int64."""
        parts = split_classes(pool[dataset], CLASS_SPLITS[self.split], self.split_seed)
        return parts[PARTS.index(self.part)]

    def task(self, pool: Pool, seed: Seed, index: int) -> TaskSpec:
        """Task `index` of the part."""
        draws = Draws(self.name, self.part, seed, index)
        dataset = dataset_in_turn(seed, index, range(len(pool)))
        available = self.classes(pool, dataset)
        smallest = self._require(pool, dataset, available)
        ways = self.ways.capped(len(available), least=2).draw(draws)
        shots = self.shots.capped(smallest - self.query, least=1).draw(draws)
        classes = draws.pick(available, ways)
        return deal(
            draws, index, dataset, classes, [pool[dataset].class_rows[c] for c in classes], shots, self.query
        )

    def training_rows(self, pack: Pack) -> np.ndarray:
        """All images of the classes in the meta-train part."""
        return self._rows(pack, "meta_train")

    def shown_rows(self, pack: Pack) -> np.ndarray:
        """All images of the classes in its part."""
        return self._rows(pack, self.part)

    def on_shown(self) -> AnyWayAnyShot:
        """Tasks of all classes that are left."""
        return AnyWayAnyShot(self.ways, self.shots, self.query)

    def _rows(self, pack: Pack, part: str) -> np.ndarray:
        classes = split_classes(pack, CLASS_SPLITS[self.split], self.split_seed)[PARTS.index(part)]
        return np.flatnonzero(np.isin(pack.labels, classes))

    def check(self, pool: Pool) -> None:
        """Every dataset's part has enough classes with enough images."""
        for dataset in range(len(pool)):
            self._require(pool, dataset, self.classes(pool, dataset))

    def _require(self, pool: Pool, dataset: int, available: np.ndarray) -> int:
        require_classes(
            pool, dataset, len(available), self.ways.low, f"classes in {self.part} ({self.split})"
        )
        smallest = min(len(pool[dataset].class_rows[c]) for c in available)
        require_images(pool, dataset, smallest, self.shots.low, self.query)
        return smallest
