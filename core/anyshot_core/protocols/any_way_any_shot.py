"""Any-way any-shot tasks across datasets, as in the NeurIPS'22 Cross-Domain MetaDL competition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anyshot_core.data.pack import Pack
from anyshot_core.data.pool import Pool
from anyshot_core.protocols.draws import Draws
from anyshot_core.protocols.keys import Seed
from anyshot_core.protocols.task import (
    Protocol,
    ProtocolError,
    Range,
    TaskSpec,
    dataset_in_turn,
    deal,
    require_classes,
    require_images,
)

WAYS = Range(2, 20)
SHOTS = Range(1, 20)
FIVE = Range(5, 5)
_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class AnyWayAnyShot(Protocol):
    """Each task from one dataset; ways and shots uniform over their ranges, capped by what the dataset offers.

    Ways are capped by the dataset's number of classes, shots by its smallest class minus the query images.
    Every dataset gets the same number of tasks (`dataset_in_turn`).
    """

    name: ClassVar[str] = "any_way_any_shot"
    ways: Range = WAYS
    shots: Range = SHOTS
    query: int = 20

    def datasets(self, pool: Pool) -> Sequence[int]:
        """Positions of the datasets that tasks come from."""
        return range(len(pool))

    def task(self, pool: Pool, seed: Seed, index: int) -> TaskSpec:
        """Task `index` of the phase."""
        draws = Draws(self.name, seed, index)
        dataset = dataset_in_turn(seed, index, self.datasets(pool))
        pack = pool[dataset]
        require_classes(pool, dataset, len(pack.classes), 2)
        require_images(pool, dataset, pack.smallest_class, 1, self.query)
        ways = self.ways.capped(len(pack.classes), least=2).draw(draws)
        shots = self.shots.capped(pack.smallest_class - self.query, least=1).draw(draws)
        classes = draws.choose(len(pack.classes), ways)
        return deal(draws, index, dataset, classes, [pack.class_rows[c] for c in classes], shots, self.query)

    def check(self, pool: Pool) -> None:
        """Every dataset has two classes, and in each class one shot beside the query."""
        for dataset in self.datasets(pool):
            require_classes(pool, dataset, len(pool[dataset].classes), 2)
            require_images(pool, dataset, pool[dataset].smallest_class, 1, self.query)


@dataclass(frozen=True)
class FixedWaysShots(AnyWayAnyShot):
    """N-way k-shot across datasets: nothing is capped, a dataset that cannot offer it is an error."""

    name: ClassVar[str] = "fixed"
    ways: Range = FIVE
    shots: Range = FIVE

    def __post_init__(self) -> None:
        if self.ways.low != self.ways.high or self.shots.low != self.shots.high:
            raise ProtocolError("The protocol `fixed` takes one number of ways and one of shots, not ranges.")

    def task(self, pool: Pool, seed: Seed, index: int) -> TaskSpec:
        """Task `index` of the phase."""
        self._check_dataset(pool, dataset_in_turn(seed, index, self.datasets(pool)))
        return super().task(pool, seed, index)

    def check(self, pool: Pool) -> None:
        """Every dataset has N classes with k + query images."""
        for dataset in self.datasets(pool):
            self._check_dataset(pool, dataset)

    def _check_dataset(self, pool: Pool, dataset: int) -> None:
        require_classes(pool, dataset, len(pool[dataset].classes), self.ways.low)
        require_images(pool, dataset, pool[dataset].smallest_class, self.shots.low, self.query)


@dataclass(frozen=True)
class HeldOutDomains(AnyWayAnyShot):
    """Whole domains held out: meta-test tasks come from the domains named, meta-train tasks from all others."""

    name: ClassVar[str] = "held_out_domains"
    choices: ClassVar[Mapping[str, Sequence[str]]] = {"part": ("meta_train", "meta_test")}
    divides: ClassVar[bool] = True
    holds_out: ClassVar[bool] = True
    domains: tuple[str, ...] = ()
    part: str = "meta_test"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.domains:
            raise ProtocolError("held_out_domains needs at least one domain.")

    def datasets(self, pool: Pool) -> Sequence[int]:
        """Datasets of the held-out domains, or all others."""
        held_out = self.part == "meta_test"
        chosen = [d for d in range(len(pool)) if (pool[d].domain in self.domains) == held_out]
        if not chosen:
            present = ", ".join(sorted({pack.domain or "(none)" for pack in pool}))
            raise ProtocolError(f"No dataset is left for {self.part}; the pool has the domains {present}.")
        return chosen

    def shown_rows(self, pack: Pack) -> np.ndarray | None:
        """All images of the datasets of its part, none of the others."""
        return None if (pack.domain in self.domains) == (self.part == "meta_test") else _NONE

    def training_rows(self, pack: Pack) -> np.ndarray | None:
        """None of a held-out domain's images."""
        return _NONE if pack.domain in self.domains else None

    def on_shown(self) -> AnyWayAnyShot:
        """Of the datasets that are left, all."""
        return AnyWayAnyShot(self.ways, self.shots, self.query)
