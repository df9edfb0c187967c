"""The meta-train and meta-valid generators, as the contract of 2022 has them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import torch

from anyshot_core.bundle.config import EpisodeConfig, SubmissionConfig
from anyshot_core.data.images import IMAGE_SHAPE
from anyshot_core.data.pack import Pack
from anyshot_core.data.pool import Pool
from anyshot_core.episodes import batches, train_tasks
from anyshot_core.episodes.memory import Memory
from anyshot_core.protocols import (
    AnyWayAnyShot,
    AttributePairs,
    FixedWaysShots,
    Protocol,
    Range,
    TaskSpec,
)
from anyshot_core.protocols.keys import Seed
from anyshot_core.protocols.legacy import training_stream, validation_split
from anyshot_starting_kit.episodes.residence import drawing
from anyshot_starting_kit.episodes.tensors import floats, read_pack_floats, to_float

ImageSet = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


@dataclass
class Task:
    """A meta-train or meta-valid task.

    A set is (images float32 [n, 3, 128, 128] in [0, 1], labels int64 [n] in [0, num_ways), original labels int64 [n]).
    `original_class_idx` int64 [num_ways] holds the dataset's own class numbers in the order of the labels.
    """

    num_ways: int
    num_shots: int
    support_set: ImageSet
    query_set: ImageSet
    original_class_idx: np.ndarray
    dataset: str


@dataclass(frozen=True)
class MetaTrainingData:
    """What `meta_fit` and the constructor of the meta-learner are given."""

    train_classes: int | None
    total_classes: int
    train: Callable[[int], Iterator[Any]]
    valid: Callable[[int], Iterator[Task]] | None


def make_generators(
    pool: Pool,
    config: SubmissionConfig,
    seed: int,
    *,
    hide_names: bool,
    protocol: Protocol | None = None,
    validation: tuple[Pool, Protocol] | None = None,
) -> MetaTrainingData:
    """Both generators, as the phase has them; without its protocols as in 2022, validation datasets split off.

    A protocol draws the tasks of packs that are cut to what it shows (`Protocol.on_shown`). Where the phase has one for
    `validation`, `config.validation_datasets` takes nothing away. Raises ValueError where none is left to train on.
    """
    held_out = config.validation_datasets if validation is None else 0
    train, valid = _split(pool, held_out, seed)
    total = sum(len(pack.classes) for pack in train)
    if validation is not None:
        wished = apply_wishes(validation[1], config.valid)
        stream = stream_of(wished, "validation", seed)
        episodes = _protocol_generator(validation[0], wished, stream, hide_names)
    else:
        episodes = _task_generator(valid, config.valid, seed, hide_names) if valid else None
    if config.batches:
        return MetaTrainingData(total, total, BatchGenerator(train, config.batch_size, seed), episodes)
    if protocol is None:
        tasks = _task_generator(train, config.train, seed, hide_names)
        return MetaTrainingData(config.train.ways, total, tasks, episodes)
    protocol = apply_wishes(protocol, config.train)
    tasks = _protocol_generator(train, protocol, stream_of(protocol, "training", seed), hide_names)
    return MetaTrainingData(_fixed_ways(protocol), total, tasks, episodes)


def apply_wishes(protocol: Protocol, config: EpisodeConfig) -> Protocol:
    """A submission's ways and shots within the phase's ranges, and its query images up to the phase's.

    A wish outside a range changes nothing, nor does any where the tasks are not free to have other ways or shots:
    attribute pairs, writers, fixed supports.
    """
    if not isinstance(protocol, AnyWayAnyShot) or isinstance(protocol, FixedWaysShots):
        return protocol
    return replace(
        protocol,
        ways=_within(protocol.ways, config.ways, config.min_ways, config.max_ways),
        shots=_within(protocol.shots, config.shots, config.min_shots, config.max_shots),
        query=min(protocol.query, config.query_images_per_class),
    )


def _within(offered: Range, fixed: int | None, low: int | None, high: int | None) -> Range:
    wished = (fixed, fixed) if fixed is not None else (low or offered.low, high or offered.high)
    first, last = max(offered.low, wished[0]), min(offered.high, wished[1])
    return Range(first, last) if first <= last else offered


def _fixed_ways(protocol: Protocol) -> int | None:
    """The ways that all tasks have; None where they vary."""
    if isinstance(protocol, AttributePairs):
        return 2
    ways = getattr(protocol, "ways", None)
    return ways.low if isinstance(ways, Range) and ways.low == ways.high else None


def stream_of(protocol: Protocol, role: str, seed: int) -> Seed:
    """What the tasks of a role are drawn from.

    Where roles have the same images, a number that they share, or that is the test's too, would draw the same tasks.
    """
    return f"{role} {seed}".encode() if protocol.splits_tasks else seed


class TaskGenerator:
    """Every call starts again, and yields the same tasks, but for the first `skip`; they may be kept."""

    position = 0  # where the next call begins

    def __init__(self, pool: Pool, draw: Callable[[int], Iterator[TaskSpec]], hide_names: bool) -> None:
        """`draw(n)` are the first n tasks."""
        self._pool, self._draw, self._hide_names = pool, draw, hide_names
        self._memory = Memory()

    def __call__(self, count: int, skip: int = 0) -> Iterator[Task]:
        specs = islice(self._draw(count), skip, None)
        if (where := drawing()) is None:
            for spec in specs:
                yield load_task(self._pool, spec, self._memory, hide_names=self._hide_names)
            return
        for spec, images in where.load(self._pool, specs):
            support, query = images[: len(spec.support)], images[len(spec.support) :]
            yield _make_task(self._pool, spec, support, query, self._hide_names)


def _protocol_generator(pool: Pool, protocol: Protocol, seed: Seed, hide_names: bool) -> TaskGenerator:
    protocol.check(pool)
    return TaskGenerator(pool, train_tasks(pool, protocol, seed), hide_names)


def shortened(data: MetaTrainingData, items: int) -> MetaTrainingData:
    """For trial runs: no call of a generator yields more than `items`, however many were asked for."""
    train, valid = data.train, data.valid
    return replace(
        data,
        train=lambda count: train(min(count, items)),
        valid=None if valid is None else lambda count: valid(min(count, items)),
    )


def announced(data: MetaTrainingData, tell: Callable[[], None]) -> MetaTrainingData:
    """The same, and `tell` is called when either generator is asked for the first time."""
    first = iter([tell])

    def asked(generate: Callable[[int], Iterator[Any]], count: int) -> Iterator[Any]:
        for call in first:
            call()
        return generate(count)

    valid = None if data.valid is None else partial(asked, data.valid)
    return replace(data, train=partial(asked, data.train), valid=valid)


def _split(pool: Pool, count: int, seed: int) -> tuple[Pool, Pool | None]:
    if not count:
        return pool, None
    if count >= len(pool):
        raise ValueError(
            f"config.json: validation_datasets is {count}; allowed is a whole number from 0 to {len(pool) - 1},"
            f" because meta-training has {len(pool)} datasets."
        )
    keys = [str(position) for position in range(len(pool))]  # names may occur twice in a pool
    train, valid = validation_split(keys, seed, count)
    return pool.subset([int(key) for key in train]), pool.subset([int(key) for key in valid])


def _task_generator(pool: Pool, config: EpisodeConfig, seed: int, hide_names: bool) -> TaskGenerator:
    wished = config.to_dict()
    return TaskGenerator(pool, lambda count: islice(training_stream(pool, wished, seed), count), hide_names)


def load_task(pool: Pool, spec: TaskSpec, memory: Memory | None = None, *, hide_names: bool = False) -> Task:
    """The task with its images, on memory that no living tensor is on: of `memory`, where it is given, or new."""
    memory = memory or Memory()
    support, query = (_read(pool[spec.dataset], rows, memory) for rows in (spec.support, spec.query))
    return _make_task(pool, spec, support, query, hide_names)


def _make_task(
    pool: Pool, spec: TaskSpec, support: torch.Tensor, query: torch.Tensor, hide_names: bool
) -> Task:
    classes = np.asarray(spec.classes, dtype=np.int64)
    return Task(
        num_ways=spec.ways,
        num_shots=spec.shots,
        support_set=_image_set(support, spec.support_labels, classes),
        query_set=_image_set(query, spec.query_labels, classes),
        original_class_idx=classes,
        dataset=f"Dataset {spec.dataset + 1}" if hide_names else pool[spec.dataset].name,
    )


def _read(pack: Pack, rows: np.ndarray, memory: Memory) -> torch.Tensor:
    images = floats(memory, (len(rows), *IMAGE_SHAPE))
    read_pack_floats(pack, rows, images.numpy())
    return images


def _image_set(images: torch.Tensor, labels: np.ndarray, classes: np.ndarray) -> ImageSet:
    return images, torch.from_numpy(labels.astype(np.int64)), torch.from_numpy(classes[labels])


class BatchGenerator:
    """Batches of the concatenated datasets: one shuffled cycle that goes on from call to call.

    A batch is a list [images float32 [b, 3, 128, 128], labels int64 [b]]; classes are numbered through all
    datasets; the last batch of a pass may be smaller.
    """

    def __init__(self, pool: Pool, batch_size: int, seed: int) -> None:
        self._supply = batches(pool, batch_size, seed)
        self._memory = Memory()

    @property
    def position(self) -> int:
        """Where the next call begins."""
        return self._supply.position

    def __call__(self, count: int, skip: int = 0) -> Iterator[list[torch.Tensor]]:
        """The next `count` batches, but for the first `skip`."""
        self._supply.position += skip
        where = drawing()
        if where is not None and (resident := where.resident(self._supply.pool)):
            for rows, labels in self._supply.rows(count - skip):
                yield [resident.floats(rows), torch.from_numpy(labels)]
            return
        for batch in self._supply(count - skip):
            images = floats(self._memory, batch.images.shape)
            yield [to_float(batch.images, images), torch.from_numpy(batch.labels)]
