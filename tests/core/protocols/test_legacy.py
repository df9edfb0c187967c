"""The `legacy` protocol against the contract page: its printed check, and a second implementation of its text."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anyshot_core.data.pool import Pool
from anyshot_core.protocols import Legacy, ProtocolError, TaskSpec, protocol_from_dict
from anyshot_core.protocols.legacy import training_stream, validation_split
from anyshot_core.protocols.task import Range
from tests.core.data.factory import bare_pack, bare_pool


def test_the_check_that_the_contract_page_prints() -> None:
    tasks = list(Legacy(tasks_per_dataset=5).draw(bare_pool((20, 40)), 93))
    assert [(task.ways, task.shots) for task in tasks[:3]] == [(7, 5), (9, 2), (18, 20)]
    assert tasks[0].classes[:6].tolist() == [10, 19, 2, 11, 8, 6]
    assert tasks[0].support[:6].tolist() == [793, 89, 246, 119, 351, 245]
    assert tasks[0].support_labels[:6].tolist() == [1, 2, 5, 2, 4, 5]
    assert tasks[0].query[:6].tolist() == [799, 240, 787, 96, 769, 779]


def test_validation_datasets_of_the_contract_page() -> None:
    train, valid = validation_split([f"S{i}" for i in range(10)], 93, 3)
    assert valid == ["S2", "S8", "S3"]
    assert train == ["S6", "S7", "S9", "S1", "S0", "S4", "S5"]


def test_validation_must_leave_something_to_train_on() -> None:
    with pytest.raises(ProtocolError, match="validation_datasets is 2, but there are 2"):
        validation_split(["A", "B"], 93, 2)


# A second implementation, written from the contract's text alone, with lists and no code in common.


def told_by_the_text(
    datasets: list[list[list[int]]], seed: int, per_dataset: int | None, wanted: dict[str, Any]
) -> Iterator[tuple[Any, ...]]:
    """Yield (dataset, ways, shots, classes, support, support labels, query, query labels).

    `datasets[d][c]` are the rows of class c; `per_dataset` None draws the dataset, as meta-train does.
    """
    stream = np.random.RandomState(seed)
    counter = 0
    while per_dataset is None or counter < per_dataset * len(datasets):
        d = stream.randint(0, len(datasets)) if per_dataset is None else counter // per_dataset
        counter += 1
        of_class = datasets[d]
        most_ways = len(of_class)
        most_shots = min(len(rows) for rows in of_class) - wanted["query"]
        ways = number(stream, wanted["N"], wanted["min_N"], wanted["max_N"], most_ways, 2)
        shots = number(stream, wanted["k"], wanted["min_k"], wanted["max_k"], most_shots, 1)
        classes = [int(c) for c in stream.permutation(len(of_class))][:ways]
        columns = []
        for c in classes:
            columns.append(list(stream.choice(of_class[c], shots + wanted["query"], replace=False)))
        images, labels = [], []
        for position in range(shots + wanted["query"]):
            for label in range(ways):
                images.append(int(columns[label][position]))
                labels.append(label)
        first = list(stream.permutation(ways * shots))
        second = list(stream.permutation(ways * wanted["query"]))
        base = ways * shots
        yield (
            d,
            ways,
            shots,
            classes,
            [images[i] for i in first],
            [labels[i] for i in first],
            [images[base + i] for i in second],
            [labels[base + i] for i in second],
        )


def number(
    stream: np.random.RandomState, fixed: int | None, low: int, high: int, most: int, least: int
) -> int:
    if fixed is not None:
        return most if fixed > most else fixed
    top = high if high < most else most
    bottom = low
    if low > top:
        bottom = top - (high - low)
        if bottom < least:
            bottom = least
    return int(stream.randint(bottom, top + 1))


ANY = {"N": None, "min_N": 2, "max_N": 20, "k": None, "min_k": 1, "max_k": 20, "query": 20}
# Ten datasets as a phase has them: fewer classes than 20 ways, fewer images than 20 shots, unequal classes.
SIZES = ((20, 40), (19, 40), (6, 40), (40, 40), (2, 30), (25, 60), (12, 21), (8, 45), (100, 40), (30, 33))


def uneven_pool() -> Pool:
    """As `SIZES`, rows of each class scattered over the dataset, and class sizes unequal in the last one."""
    packs = []
    for d, (classes, images) in enumerate(SIZES):
        counts = [images + (c % 7 if d == 9 else 0) for c in range(classes)]
        labels = np.random.RandomState(d).permutation(np.repeat(np.arange(classes), counts))
        packs.append(bare_pack(labels, f"D{d}"))
    return Pool(packs)


def rows_by_class(pool: Pool) -> list[list[list[int]]]:
    return [[np.flatnonzero(pack.labels == c).tolist() for c in range(len(pack.classes))] for pack in pool]


def same(task: TaskSpec, told: tuple[Any, ...]) -> bool:
    arrays = (task.classes, task.support, task.support_labels, task.query, task.query_labels)
    return (task.dataset, task.ways, task.shots) == told[:3] and all(
        array.tolist() == values for array, values in zip(arrays, told[3:], strict=True)
    )


@pytest.mark.seconds("draws thousands of tasks")
def test_six_thousand_tasks_are_those_of_the_text() -> None:
    pool = uneven_pool()
    protocol = Legacy(tasks_per_dataset=600)
    told = told_by_the_text(rows_by_class(pool), 2022, 600, ANY)
    count = 0
    for index, expected in enumerate(told):
        assert same(protocol.task(pool, 2022, index), expected), f"task {index}"
        count += 1
    assert count == 6000


@pytest.mark.parametrize("seed", [0, 1, 93, 4294967295])
def test_other_seeds(seed: int) -> None:
    pool = uneven_pool()
    told = told_by_the_text(rows_by_class(pool), seed, 3, ANY)
    tasks = Legacy(tasks_per_dataset=3).draw(pool, seed)
    assert all(same(task, expected) for task, expected in zip(tasks, told, strict=True))


@pytest.mark.parametrize(
    "config",
    [
        {
            "N": 5,
            "min_k": 1,
            "max_k": 20,
            "query_images_per_class": 20,
        },  # the contract's defaults for meta-train
        {"min_N": 2, "max_N": 20, "min_k": 1, "max_k": 20, "query_images_per_class": 20},
        {"N": 30, "k": 10, "query_images_per_class": 20},  # capped where a dataset has less
        {"N": None, "min_N": 22, "max_N": 25, "k": None, "min_k": 15, "max_k": 18},  # ranges shift down
        {"N": 5, "k": 5, "query_images_per_class": 5},
    ],
)
def test_meta_train_tasks_are_those_of_the_text(config: dict[str, int | None]) -> None:
    pool = uneven_pool()
    query = config.get("query_images_per_class") or 20
    wanted = {**ANY, **{key: value for key, value in config.items() if key in ANY}, "query": query}
    told = told_by_the_text(rows_by_class(pool), 93, None, wanted)
    for task, expected in islice(zip(training_stream(pool, config, 93), told, strict=False), 200):
        assert same(task, expected)


def test_a_stream_starts_afresh_at_each_call() -> None:
    pool = bare_pool((5, 30), (6, 30))
    first = list(islice(training_stream(pool, {"N": 5, "k": 1}, 93), 5))
    second = list(islice(training_stream(pool, {"N": 5, "k": 1}, 93), 5))
    assert all(a.equals(b) for a, b in zip(first, second, strict=True))


def test_the_table_is_stored_by_digest_and_an_altered_one_drawn_again(tmp_path: Path) -> None:
    pool = bare_pool((20, 40), (10, 40))
    settings = {"name": "legacy", "tasks_per_dataset": 4}
    drawn = list(Legacy(tasks_per_dataset=4).draw(pool, 93))
    protocol_from_dict(settings, tmp_path).task(pool, 93, 7)
    (stored,) = tmp_path.iterdir()
    assert len(stored.stem) == 64
    before = stored.stat().st_mtime_ns
    assert protocol_from_dict(settings, tmp_path).task(pool, 93, 7).equals(drawn[7])
    assert stored.stat().st_mtime_ns == before  # read, not drawn again

    broken = bytearray(stored.read_bytes())
    broken[len(broken) // 2] ^= 1
    stored.write_bytes(broken)
    assert protocol_from_dict(settings, tmp_path).task(pool, 93, 7).equals(drawn[7])
    assert stored.read_bytes() != bytes(broken)
    protocol_from_dict(settings, tmp_path).task(pool, 94, 0)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_task_beyond_the_table_is_refused() -> None:
    with pytest.raises(ProtocolError, match="tasks 0 to 4"):
        Legacy(tasks_per_dataset=5).task(bare_pool((20, 40)), 93, 5)


def test_a_seed_that_the_2022_kit_could_not_take_is_refused() -> None:
    with pytest.raises(ProtocolError, match="seeds from 0 to 4294967295"):
        next(Legacy().draw(bare_pool((20, 40)), 1 << 32))


def test_a_class_with_too_few_images_is_refused_by_name() -> None:
    with pytest.raises(ProtocolError, match=r"D0 .*found 20 images in a class; expected at least 21"):
        next(Legacy().draw(bare_pool((20, 20)), 93))


def test_settings_survive_plain_data() -> None:
    protocol = Legacy(tasks_per_dataset=7, ways=Range(5, 5), query=10)
    assert protocol_from_dict(protocol.to_dict()) == protocol
    assert "store" not in protocol.to_dict()
