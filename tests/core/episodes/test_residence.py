"""Pools on the device: what is drawn there is, bit for bit, what is drawn on the CPU."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from anyshot_core.bundle.config import EpisodeConfig, SubmissionConfig
from anyshot_core.data.pack import pack_dataset
from anyshot_core.data.pool import Pool
from anyshot_core.data.problems import BadPack
from anyshot_core.protocols import AnyWayAnyShot, Protocol, Range
from anyshot_starting_kit.episodes import stream_tensors
from anyshot_starting_kit.episodes.residence import ResidentPool, drawing, drawn_on, fits
from anyshot_starting_kit.episodes.tensors import read_in_parts
from anyshot_starting_kit.runner.generators import MetaTrainingData, make_generators
from anyshot_starting_kit.training.fixed_supports import FixedSupportGenerator
from tests.core.data.factory import write_dataset

EPISODES = EpisodeConfig(ways=3, shots=2, query_images_per_class=3)
ANY = AnyWayAnyShot(ways=Range(2, 3), shots=Range(1, 2), query=2)
FIXED = AnyWayAnyShot(ways=Range(3, 3), shots=Range(2, 2), query=4)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    """Two datasets of different sizes, whose images differ."""
    folder = tmp_path_factory.mktemp("residence")
    made = [write_dataset(folder / "ONE", 4, 9), write_dataset(folder / "TWO", 5, 7, size=(120, 120))]
    return Pool([pack_dataset(one, folder / "packs") for one in made])


def generators(pool: Pool, protocol: Protocol | None, batches: bool = False) -> MetaTrainingData:
    config = SubmissionConfig(batches=batches, batch_size=8, train=EPISODES, valid=EPISODES)
    return make_generators(
        pool, config, 5, hide_names=True, protocol=protocol, validation=(pool, protocol or ANY)
    )


def validation(data: MetaTrainingData) -> list[torch.Tensor]:
    assert data.valid is not None
    return tensors(data.valid(3))


def tensors(items: Iterator[Any]) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    for item in items:
        found += item if isinstance(item, list) else [*item.support_set, *item.query_set]
    return found


def same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return len(one) == len(other) > 0 and all(map(torch.equal, one, other))


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("protocol", [None, ANY, FIXED], ids=["of 2022", "any", "fixed"])
def test_tasks_are_the_same_on_the_device(pool: Pool, protocol: Protocol | None, keep: bool) -> None:
    data = generators(pool, protocol)
    plain, skipped = tensors(data.train(9)), tensors(data.train(9, skip=4))  # pyright: ignore[reportCallIssue]
    fixed = tensors(FixedSupportGenerator(data.train)(6))
    judged = validation(data)
    with drawn_on("cpu", keep):
        assert same(tensors(data.train(9)), plain)
        assert same(tensors(data.train(9, skip=4)), skipped)  # pyright: ignore[reportCallIssue]
        assert same(tensors(FixedSupportGenerator(data.train)(6)), fixed)
        assert same(validation(data), judged)


@pytest.mark.parametrize("keep", [True, False])
def test_batches_are_the_same_on_the_device_and_go_on_from_call_to_call(pool: Pool, keep: bool) -> None:
    plain, there = generators(pool, None, batches=True).train, generators(pool, None, batches=True).train
    expected = tensors(plain(14))  # more than one pass
    with drawn_on("cpu", keep):
        found = tensors(there(5))
        assert there.position == 5  # pyright: ignore[reportFunctionMemberAccess]
        assert same([*found, *tensors(there(5)), *tensors(there(4))], expected)
        skipping = generators(pool, None, batches=True).train
        assert same(tensors(skipping(14, skip=12)), expected[24:])  # pyright: ignore[reportCallIssue]


def test_a_stream_gathers_from_the_pool_on_the_device(pool: Pool) -> None:
    plain = list(stream_tensors(pool, ANY, 8, 10, start=2))
    there = list(stream_tensors(pool, ANY, 8, 10, start=2, resident=ResidentPool(pool, "cpu")))
    assert same([task.images for task in there], [task.images for task in plain])
    assert [task.spec.dataset for task in there] == [task.spec.dataset for task in plain]


def test_several_threads_read_what_one_reads(pool: Pool) -> None:
    rows = np.random.default_rng(3).integers(0, len(pool[1]), 100)  # more than three parts
    out = np.zeros((100, 3, 128, 128), dtype=np.uint8)
    with ThreadPoolExecutor(3) as readers:
        read_in_parts(pool[1], rows, out, readers)
        assert np.array_equal(out, pool[1].images[rows])
        with pytest.raises(BadPack, match="truncated"):
            read_in_parts(pool[1], np.array([len(pool[1]) + 1000]), out[:1], readers)


def test_a_pool_is_kept_where_it_takes_no_more_than_its_share(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = sum(map(len, pool)) * 3 * 128 * 128
    for free, kept in ((2 * size, True), (2 * size - 2, False)):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _, free=free: (free, 10 * size))
        assert fits(pool, torch.device("cuda")) is kept
    assert not fits(pool, torch.device("cpu"))
    with drawn_on("cpu"):
        assert drawing() is None, "nothing changes on the CPU"


def test_each_pool_is_read_once_in_a_training(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    held = ResidentPool.__init__

    def counted(self: ResidentPool, pool: Pool, device: torch.device) -> None:
        read.extend(pack.path for pack in pool)
        held(self, pool, device)

    monkeypatch.setattr(ResidentPool, "__init__", counted)
    data = generators(pool, ANY)
    with drawn_on("cpu", True):
        for _ in range(3):
            list(data.train(2))
    assert read == [pack.path for pack in pool]
