"""What a task is, and the steps that protocols share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from anyshot_core.data.pack import Pack
from anyshot_core.data.pool import Pool
from anyshot_core.data.problems import DataError
from anyshot_core.protocols.draws import Draws
from anyshot_core.protocols.keys import Seed, write_seed


class ProtocolError(DataError):
    """A protocol is described wrongly, or the pool cannot offer what it asks for."""


@dataclass(frozen=True)
class TaskSpec:
    """One task as row numbers; no pixels.

    Attributes:
        index: number of the task in its phase.
        dataset: position of its dataset in the pool.
        classes: int64 `[ways]`, class numbers of that pack; label l means `classes[l]`.
        support, query: int64 `[n]`, rows of that pack, shuffled.
        support_labels, query_labels: int64 `[n]` in `[0, ways)`.
    """

    index: int
    dataset: int
    ways: int
    shots: int
    classes: np.ndarray
    support: np.ndarray
    support_labels: np.ndarray
    query: np.ndarray
    query_labels: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """Support rows, then query rows."""
        return np.concatenate([self.support, self.query])

    def equals(self, other: TaskSpec) -> bool:
        """Same task, draw for draw."""
        numbers = (self.index, self.dataset, self.ways, self.shots)
        if numbers != (other.index, other.dataset, other.ways, other.shots):
            return False
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in ARRAYS)


ARRAYS = ("classes", "support", "support_labels", "query", "query_labels")


@dataclass(frozen=True)
class Range:
    """Whole numbers from `low` to `high`, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not 1 <= self.low <= self.high:
            raise ProtocolError(f"A range must satisfy 1 <= low <= high; found {self.low} to {self.high}.")

    def capped(self, most: int, least: int) -> Range:
        """What is left of the range where only `most` are to be had.

        A range that lies above `most` as a whole shifts down by its width, but not below `least`.
        """
        high = min(self.high, most)
        low = self.low if self.low <= high else max(high - (self.high - self.low), least)
        return Range(low, high)

    def draw(self, draws: Draws) -> int:
        """A uniform number of the range; a range of one number draws nothing."""
        return self.low if self.low == self.high else draws.between(self.low, self.high)


@dataclass(frozen=True)
class ProtocolSettings:
    """Base of what draws tasks: a frozen dataclass whose fields are its settings, but for those marked otherwise."""

    name: ClassVar[str]
    choices: ClassVar[
        Mapping[str, Sequence[str]]
    ] = {}  # the words that a setting may be, where it is one of some

    def __post_init__(self) -> None:
        for name, allowed in self.choices.items():
            if getattr(self, name) not in allowed:
                raise ProtocolError(
                    f"{name} must be one of {', '.join(allowed)}; found {getattr(self, name)!r}."
                )

    @classmethod
    def setting_fields(cls) -> tuple[Field[Any], ...]:
        """The fields that describe it."""
        return tuple(field for field in fields(cls) if field.metadata.get("setting", True))

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], table_folder: Path | None = None) -> Self:
        """One with these settings; `table_folder` is for those that keep a table of their tasks."""
        return cls(**settings)

    def to_dict(self) -> dict[str, Any]:
        """`name` and every setting as JSON knows them, which `protocol_from_dict` reads."""
        return {"name": self.name} | {f.name: _plain(getattr(self, f.name)) for f in self.setting_fields()}


def _plain(value: Any) -> Any:
    if isinstance(value, Range):
        return [value.low, value.high]
    if isinstance(value, bytes):
        return write_seed(value)
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class Protocol(ProtocolSettings):
    """Base of all protocols, which draw rows of packs.

    A subclass defines `name` and `task`. `tasks` may be overridden where a sequence is cheaper than its
    elements.
    """

    splits_datasets: ClassVar[bool] = False  # see `training_rows`; its datasets come in turn
    divides: ClassVar[bool] = False  # it shows a part of its pool: other parts are for other roles
    holds_out: ClassVar[bool] = False  # its `training_rows` are those of every dataset, tested or not
    splits_tasks: ClassVar[bool] = False  # what differs between roles are tasks on the same images

    def task(self, pool: Pool, seed: Seed, index: int) -> TaskSpec:
        """Task `index`: a pure function of pool, protocol, seed and index.

        Raises:
            ProtocolError: the pool cannot offer it; names dataset and remedy.
        """
        raise NotImplementedError

    def tasks(self, pool: Pool, seed: Seed, count: int, start: int = 0) -> Iterator[TaskSpec]:
        """Tasks `start` to `start + count - 1`."""
        return (self.task(pool, seed, index) for index in range(start, start + count))

    def check(self, pool: Pool) -> None:
        """Raise `ProtocolError` if some task of this protocol could not be drawn from the pool."""
        raise NotImplementedError

    def training_rows(self, pack: Pack) -> np.ndarray | None:
        """Rows of a tested dataset that may be trained on, int64 `[n]`; None for all: the protocol splits no dataset.

        Who trains on a dataset that tasks are drawn from as well must be given no more than these.
        """
        return None

    def shown_rows(self, pack: Pack) -> np.ndarray | None:
        """Rows that its tasks come from, int64 `[n]`: None for all, empty for none.

        A submission that trains or validates by this protocol is given no other images of the pack.
        """
        return None

    def shown_annotations(self, pack: Pack) -> frozenset[str] | None:
        """The pack's annotations that a submission which trains by it is given; None for all."""
        return None

    def on_shown(self) -> Protocol:
        """The protocol for packs of which no more than its `shown_rows` are left; it holds no secret of a split.

        Raises:
            ProtocolError: it can only be tested by.
        """
        return self


@dataclass(frozen=True)
class NumberMaker(ProtocolSettings):
    """Base of benchmarks that make numbers on the spot: no images, so that no submission can be run on them."""

    def task(self, seed: Seed, index: int) -> TaskSpec:
        """Task `index`; its rows are positions in `values()`."""
        raise NotImplementedError

    def tasks(self, seed: Seed, count: int, start: int = 0) -> Iterator[TaskSpec]:
        """Tasks `start` to `start + count - 1`."""
        return (self.task(seed, index) for index in range(start, start + count))

    def values(self) -> np.ndarray:
        """All points, float32 `[points, features]`."""
        raise NotImplementedError


def dataset_in_turn(seed: Seed, index: int, datasets: Sequence[int]) -> int:
    """The dataset of task `index`: every round of `len(datasets)` tasks has each once, in an order of its own.

    So any number of tasks is spread as equally as it can be, without knowing how many there will be.
    """
    turn, place = divmod(index, len(datasets))
    return datasets[int(Draws("round", seed, turn).permutation(len(datasets))[place])]


def tasks_of_dataset(seed: Seed, tasks: range, datasets: int, dataset: int) -> list[int]:
    """The indices among `tasks` whose turn it is for one of so many datasets, ascending."""
    turns: dict[int, int] = {}
    for index in tasks:
        turns.setdefault(index // datasets, 0)
    for turn in turns:
        order = Draws("round", seed, turn).permutation(datasets)
        turns[turn] = turn * datasets + int((order == dataset).argmax())
    return [index for index in turns.values() if index in tasks]


def deal(
    draws: Draws,
    index: int,
    dataset: int,
    classes: np.ndarray,
    rows: Sequence[np.ndarray],
    shots: int,
    query: int,
) -> TaskSpec:
    """Deal a balanced task: `shots` support and `query` query images of each class, disjoint, both sets shuffled.

    Args:
        classes: int64 `[ways]`.
        rows: for each of these classes, the rows to draw from.
    """
    drawn = draws.pick_each(rows, shots + query)
    return assemble(draws, index, dataset, classes, drawn[:, :shots], drawn[:, shots:])


def assemble(
    draws: Draws, index: int, dataset: int, classes: np.ndarray, support: np.ndarray, query: np.ndarray
) -> TaskSpec:
    """A task of given support `[ways, shots]` and query rows `[ways, n]`; shuffles each set."""
    ways, shots = support.shape
    support_order = draws.permutation(support.size)
    query_order = draws.permutation(query.size)
    labels = np.arange(ways, dtype=np.int64)
    return TaskSpec(
        index=index,
        dataset=dataset,
        ways=ways,
        shots=shots,
        classes=classes,
        support=support.reshape(-1)[support_order],
        support_labels=labels.repeat(shots)[support_order],
        query=query.reshape(-1)[query_order],
        query_labels=labels.repeat(query.shape[1])[query_order],
    )


def require_images(
    pool: Pool, dataset: int, found: int, shots: int, query: int, of: str = "images in a class"
) -> None:
    """Raise if a class has fewer images than the fewest shots and the query need."""
    if found < shots + query:
        raise ProtocolError(
            f"{pool[dataset].name} ({pool[dataset].path}): found {found} {of}; expected at least {shots + query} "
            f"({shots} shots + {query} query images). Leave the class or the dataset out, or ask for fewer images."
        )


def require_classes(pool: Pool, dataset: int, found: int, ways: int, of: str = "classes") -> None:
    """Raise if a dataset has fewer classes than the fewest ways."""
    if found < ways:
        raise ProtocolError(
            f"{pool[dataset].name} ({pool[dataset].path}): found {found} {of}; expected at least {ways}. "
            "Leave the dataset out of the pool, or ask for fewer ways."
        )
