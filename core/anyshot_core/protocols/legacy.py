"""The tasks of the 2022 starting kit, draw for draw.

One stream of NumPy's legacy `RandomState`, whose output NumPy keeps for ever, serves all tasks one after the other.
So a task cannot be drawn without those before it: `Legacy` draws all of them once into a table and addresses that.

The stream starts from 32 bits, whatever it is seeded with: who sees ways and shots of a few tasks finds all of them by
trying. It is for comparison with 2022, not for prizes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from anyshot_core.data.pool import Pool
from anyshot_core.protocols.any_way_any_shot import SHOTS, WAYS
from anyshot_core.protocols.keys import Seed, legacy_number, write_seed
from anyshot_core.protocols.table import TableStore
from anyshot_core.protocols.task import (
    Protocol,
    ProtocolError,
    Range,
    TaskSpec,
    require_classes,
    require_images,
)


@dataclass(frozen=True)
class Legacy(Protocol):
    """Meta-test of the 2022 kit: datasets in the pool's order, `tasks_per_dataset` tasks each, one stream for all."""

    name: ClassVar[str] = "legacy"
    tasks_per_dataset: int = 100
    ways: Range = WAYS
    shots: Range = SHOTS
    query: int = 20
    store: TableStore = field(
        default_factory=TableStore, compare=False, repr=False, metadata={"setting": False}
    )

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], table_folder: Path | None = None) -> Self:
        """One that keeps its table of tasks in `table_folder`."""
        return cls(**settings, store=TableStore(table_folder))

    def task(self, pool: Pool, seed: Seed, index: int) -> TaskSpec:
        """Task `index` of `len(pool) * tasks_per_dataset`, from the table of all of them."""
        total = len(pool) * self.tasks_per_dataset
        if not 0 <= index < total:
            raise ProtocolError(
                f"Task {index} does not exist: {len(pool)} datasets with {self.tasks_per_dataset} tasks each have "
                f"tasks 0 to {total - 1}. Raise tasks_per_dataset."
            )
        table = self.store.table(self._key(pool, seed), lambda: self.draw(pool, seed))
        return table.task(index)

    def draw(self, pool: Pool, seed: Seed) -> Iterator[TaskSpec]:
        """All tasks in turn, from a fresh stream."""
        self.check(pool)
        random = _random_state(legacy_number(seed))
        for index in range(len(pool) * self.tasks_per_dataset):
            yield _draw_task(random, pool, index // self.tasks_per_dataset, index, self)

    def check(self, pool: Pool) -> None:
        """Every dataset has two classes, and in each class one shot beside the query."""
        for dataset, pack in enumerate(pool):
            require_classes(pool, dataset, len(pack.classes), 2)
            require_images(pool, dataset, pack.smallest_class, 1, self.query)

    def _key(self, pool: Pool, seed: Seed) -> str:
        labels = ",".join(pack.meta.labels_digest for pack in pool)
        return f"{self.to_dict()} seed {write_seed(seed)} labels {labels}"


def training_stream(pool: Pool, config: Mapping[str, int | None], seed: int) -> Iterator[TaskSpec]:
    """Meta-train and meta-valid tasks of the 2022 kit, without end; each call starts afresh.

    The dataset of each task is drawn with `randint`. `config` has the keys of `config.json`: `N`, `min_N`, `max_N`,
    `k`, `min_k`, `max_k`, `query_images_per_class`; a fixed `N` or `k` wins over its range.

    Raises:
        ProtocolError: a dataset cannot offer the smallest task that is asked for.
    """
    settings = legacy_settings(config)
    settings.check(pool)
    random = _random_state(seed)
    index = 0
    while True:
        yield _draw_task(random, pool, int(random.randint(0, len(pool))), index, settings)
        index += 1


def legacy_settings(config: Mapping[str, int | None]) -> Legacy:
    """Ways, shots and query images that a participant's `config.json` asks for."""
    query = config.get("query_images_per_class")
    return Legacy(
        ways=_range(config, "N", WAYS), shots=_range(config, "k", SHOTS), query=20 if query is None else query
    )


def validation_split(
    names: Sequence[str], seed: int, validation_datasets: int
) -> tuple[list[str], list[str]]:
    """Names for training and for validation: a shuffle of the list, of which the first are taken for validation.

    Raises:
        ProtocolError: nothing would be left to train on.
    """
    if not 0 <= validation_datasets < len(names):
        raise ProtocolError(
            f"validation_datasets is {validation_datasets}, but there are {len(names)} training datasets; at least "
            "one must be left to train on."
        )
    shuffled = list(names)
    _random_state(seed).shuffle(shuffled)
    return shuffled[validation_datasets:], shuffled[:validation_datasets]


def _range(config: Mapping[str, int | None], key: str, default: Range) -> Range:
    fixed = config.get(key)
    if fixed is not None:
        return Range(fixed, fixed)
    low, high = config.get(f"min_{key}"), config.get(f"max_{key}")
    return Range(default.low if low is None else low, default.high if high is None else high)


def _random_state(seed: int) -> np.random.RandomState:
    if not 0 <= seed < 1 << 32:
        raise ProtocolError(f"The legacy protocol takes seeds from 0 to {(1 << 32) - 1}; found {seed}.")
    return np.random.RandomState(seed)


def _draw_task(
    random: np.random.RandomState, pool: Pool, dataset: int, index: int, settings: Legacy
) -> TaskSpec:
    pack = pool[dataset]
    ways = _draw_number(random, settings.ways.capped(len(pack.classes), least=2))
    shots = _draw_number(random, settings.shots.capped(pack.smallest_class - settings.query, least=1))
    classes = random.permutation(len(pack.classes))[:ways]
    drawn = [random.choice(pack.class_rows[c], shots + settings.query, replace=False) for c in classes]
    rows = np.stack(drawn).T.reshape(-1)  # one image of each class in turn
    labels = np.tile(np.arange(ways, dtype=np.int64), shots + settings.query)
    cut = ways * shots
    support = random.permutation(cut)
    query = cut + random.permutation(len(rows) - cut)
    arrays = (classes.astype(np.int64), rows[support], labels[support], rows[query], labels[query])
    return TaskSpec(index, dataset, ways, shots, *arrays)


def _draw_number(random: np.random.RandomState, of: Range) -> int:
    return of.low if of.low == of.high else int(random.randint(of.low, of.high + 1))
