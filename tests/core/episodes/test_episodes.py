"""Pixels of tasks and batches: the right ones, in order, bounded, on time."""

import gc
import threading
import time
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from anyshot_core.data.pack import pack_dataset
from anyshot_core.data.pool import Pool
from anyshot_core.episodes.prefetch import PrefetchSlot, prefetch
from anyshot_core.protocols import AnyWayAnyShot, ProtocolError, Range
from anyshot_starting_kit.episodes import (
    batches,
    gather,
    stream,
    stream_tensors,
    to_float,
    train_tasks,
)
from tests.core.data.factory import bare_pool, labels_of, write_dataset

PROTOCOL = AnyWayAnyShot(ways=Range(2, 4), shots=Range(1, 3), query=3)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    """Two datasets of 4 and 5 classes with 8 images each."""
    folder = tmp_path_factory.mktemp("sets")
    sets = [write_dataset(folder / name, classes=n, images=8) for name, n in (("A", 4), ("B", 5))]
    return Pool([pack_dataset(one, folder / "packs") for one in sets])


def test_gather_copies_each_image_of_the_task(pool: Pool) -> None:
    for spec in PROTOCOL.tasks(pool, 3, 6):
        task = gather(pool, spec)
        for images, rows in ((task.support, spec.support), (task.query, spec.query)):
            assert len(images) == len(rows)
            assert all(
                np.array_equal(image, pool[spec.dataset].images[row])
                for image, row in zip(images, rows, strict=True)
            )


def test_gather_fills_the_buffer_that_it_is_given(pool: Pool) -> None:
    spec = PROTOCOL.task(pool, 3, 0)
    buffer = np.zeros((60, 3, 128, 128), dtype=np.uint8)
    task = gather(pool, spec, buffer)
    assert np.shares_memory(task.images, buffer)
    assert np.array_equal(task.images, gather(pool, spec).images)
    assert not buffer[len(spec.rows) :].any()


@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_stream_yields_the_tasks_in_order(pool: Pool, reuse: bool, threads: int) -> None:
    specs = list(PROTOCOL.tasks(pool, 8, 12, start=5))
    streamed = stream(pool, PROTOCOL, 8, 12, start=5, reuse=reuse, threads=threads)
    for spec, task in zip(specs, streamed, strict=True):
        assert task.spec.equals(spec)
        assert np.array_equal(task.images, gather(pool, spec).images)


def test_without_reuse_a_task_may_be_kept(pool: Pool) -> None:
    kept = list(stream(pool, PROTOCOL, 8, 10))
    assert all(np.array_equal(task.images, gather(pool, task.spec).images) for task in kept)
    floats = list(stream_tensors(pool, PROTOCOL, 8, 10))
    for task, same in zip(floats, kept, strict=True):
        assert torch.equal(task.images, to_float(same.images))


def test_float_streams_hold_support_and_query(pool: Pool) -> None:
    for task in stream_tensors(pool, PROTOCOL, 8, 8):
        images = gather(pool, task.spec)
        assert torch.equal(task.support, to_float(images.support))
        assert torch.equal(task.query, to_float(images.query))
        assert task.images.dtype == torch.float32


def test_floats_are_what_the_2022_kit_gave(tmp_path: Path) -> None:
    """Its loader: PIL open, resize to 128, to_tensor (a division by 255)."""
    folder = write_dataset(tmp_path / "D", classes=2, images=3)
    pack = pack_dataset(folder, tmp_path)
    floats = to_float(pack.images[:])
    for row, (file, *_) in enumerate(labels_of(folder)):
        with Image.open(folder / "images" / file) as image:
            old = (
                torch.from_numpy(np.array(image.resize((128, 128))))
                .permute(2, 0, 1)
                .contiguous()
                .float()
                .div(255)
            )
        assert torch.equal(floats[row], old)


def test_to_float_converts_every_value_exactly_and_into_a_buffer() -> None:
    values = np.arange(256, dtype=np.uint8).reshape(2, 128)
    out = torch.full((4, 128), -1.0)
    made = to_float(values, out)
    assert torch.equal(made.reshape(-1), torch.arange(256).float() / 255)
    assert made.data_ptr() == out.data_ptr()
    assert (out[2:] == -1).all()
    assert torch.equal(to_float(values, device="cpu"), made)


def test_only_a_bounded_number_of_tasks_is_made_ahead() -> None:
    made: list[int] = []

    def make(job: int, slot: PrefetchSlot) -> int:
        made.append(job)
        return job

    results = prefetch(range(100), make, ahead=3, threads=2, reuse=True)
    for expected in range(20):
        assert next(results) == expected
        time.sleep(0.005)
        assert len(made) <= expected + 1 + 3
    results.close()  # type: ignore[attr-defined]
    assert len(made) <= 20 + 3


def test_a_slot_is_filled_again_only_when_the_next_is_asked_for() -> None:
    def make(job: int, slot: PrefetchSlot) -> np.ndarray:
        images = slot.images(1 + job % 3)
        images[:] = job
        return images

    for job, images in enumerate(prefetch(range(50), make, ahead=2, threads=2, reuse=True)):
        time.sleep(0.002)  # time enough for threads to do harm
        assert len(images) == 1 + job % 3
        assert (images == job).all()


def test_prefetching_happens_while_the_consumer_works() -> None:
    made: set[int] = set()

    def make(job: int, slot: PrefetchSlot) -> int:
        made.add(job)
        return job

    results = prefetch(range(10), make, ahead=2, threads=2, reuse=True)
    next(results)
    deadline = time.monotonic() + 60
    while not made >= {1, 2}:  # the consumer works; two more get ready meanwhile
        assert time.monotonic() < deadline
        time.sleep(0.005)
    assert [next(results), next(results)] == [1, 2]


def prefetching() -> set[threading.Thread]:
    """The threads that work ahead of some consumer now."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("anyshot-prefetch")}


def test_errors_come_when_their_turn_comes_and_threads_end() -> None:
    small = bare_pool((4, 30), (4, 20))  # every second dataset has too few images
    before = prefetching()
    streamed = stream(small, AnyWayAnyShot(), 1, 50)
    with pytest.raises(ProtocolError, match="D1"):
        for _ in streamed:
            continue
    abandoned = stream(bare_pool((4, 30)), AnyWayAnyShot(), 1, 50)
    next(abandoned)
    del abandoned
    gc.collect()
    assert prefetching() <= before


def test_train_tasks_start_again_at_each_call(pool: Pool) -> None:
    generate = train_tasks(pool, PROTOCOL, 7)
    first, second = list(generate(4)), list(generate(6))
    assert len(second) == 6
    for a, b in zip(first, second, strict=False):
        assert a.equals(b)


@pytest.mark.parametrize("ahead", [0, 2])
def test_batches_are_one_shuffled_cycle_that_goes_on(pool: Pool, ahead: int) -> None:
    supply = batches(pool, 16, 93, ahead=ahead)
    assert (supply.total_classes, supply.batches_a_pass) == (9, 5)
    first_pass = [*supply(2), *supply(3)]
    assert [len(batch.labels) for batch in first_pass] == [
        16,
        16,
        16,
        16,
        8,
    ]  # the last one of a pass is smaller
    labels = np.concatenate([batch.labels for batch in first_pass])
    assert np.bincount(labels).tolist() == [8] * 9  # every image once, classes numbered through
    by_class = {label: [] for label in range(9)}
    for batch in first_pass:
        assert batch.images.dtype == np.uint8
        for image, label in zip(batch.images, batch.labels.tolist(), strict=True):
            by_class[label].append(image.tobytes())
    for label, found in by_class.items():
        pack, c = (pool[0], label) if label < 4 else (pool[1], label - 4)
        assert set(found) == {pack.images[row].tobytes() for row in pack.class_rows[c]}
    second_pass = np.concatenate([batch.labels for batch in supply(5)])
    assert np.bincount(second_pass).tolist() == [8] * 9
    assert second_pass.tolist() != labels.tolist()  # shuffled anew


def test_a_consumer_that_stops_early_goes_on_there(pool: Pool) -> None:
    whole = [batch.labels.tolist() for batch in batches(pool, 10, 5)(8)]
    supply = batches(pool, 10, 5, ahead=3)
    taken = [batch.labels.tolist() for batch in islice(supply(100), 3)]
    taken += [batch.labels.tolist() for batch in supply(5)]
    assert taken == whole


def test_a_batch_needs_an_image(pool: Pool) -> None:
    with pytest.raises(ValueError, match="at least 1; found 0"):
        batches(pool, 0, 1)
