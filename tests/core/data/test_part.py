"""A part of a pack: the rows that were asked for, as a sound pack that knows nothing of the rest."""

from pathlib import Path

import numpy as np
import pytest

from anyshot_core.data.pack import Pack, pack_dataset
from anyshot_core.data.part import write_part
from anyshot_core.data.problems import BadPack
from anyshot_core.protocols import protocol_from_dict
from tests.core.data.factory import write_dataset


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    folder = tmp_path_factory.mktemp("part")
    return pack_dataset(write_dataset(folder / "TOY", classes=9, images=20, super_classes=True), folder)


def test_a_part_holds_its_rows_and_verifies(pack: Pack, tmp_path: Path) -> None:
    rows = np.flatnonzero(np.isin(pack.labels, [1, 4, 7]))[::-1]
    write_part(pack, rows, tmp_path / "part.anyshot-pack")
    part = Pack.open(tmp_path / "part.anyshot-pack", verify=True)
    assert part.classes == tuple(pack.classes[c] for c in (1, 4, 7))
    assert part.super_classes == tuple(pack.super_classes[c] for c in (1, 4, 7))
    assert (part.name, len(part)) == (pack.name, 60)
    np.testing.assert_array_equal(part.images, pack.images[np.sort(rows)])
    np.testing.assert_array_equal(np.array([1, 4, 7])[part.labels], pack.labels[np.sort(rows)])
    content = (tmp_path / "part.anyshot-pack").read_bytes()
    for c in (0, 2, 3, 5, 6, 8):
        assert pack.classes[c].encode() not in content


def test_a_part_of_several_blocks(pack: Pack, tmp_path: Path) -> None:
    rows = np.arange(len(pack))[:-1]  # 179 rows are two blocks
    write_part(pack, rows, tmp_path / "part.anyshot-pack")
    part = Pack.open(tmp_path / "part.anyshot-pack", verify=True)
    np.testing.assert_array_equal(part.images, pack.images[rows])


def test_nothing_is_no_part(pack: Pack, tmp_path: Path) -> None:
    with pytest.raises(BadPack, match="nothing of this dataset is left"):
        write_part(pack, np.array([], dtype=np.int64), tmp_path / "part.anyshot-pack")


@pytest.mark.parametrize("split", ["halves", "70/15/15"])
def test_what_is_trained_on_is_never_tested_within_a_domain(pack: Pack, split: str) -> None:
    from anyshot_core.data.pool import Pool

    seen = set()
    for split_seed in range(5):
        settings = {"name": "within_domain", "split": split, "split_seed": split_seed}
        protocol = protocol_from_dict({**settings, "ways": [1, 2], "shots": 1, "query": 5})
        rows = protocol.training_rows(pack)
        assert rows is not None
        trained = set(pack.labels[rows].tolist())
        tested = {int(c) for task in protocol.tasks(Pool([pack]), 3, 50) for c in task.classes}
        assert trained
        assert tested
        assert not trained & tested
        seen.add(frozenset(trained))
    assert len(seen) > 1  # the seed decides


def test_base_classes_keep_their_held_back_images_from_training(pack: Pack) -> None:
    from anyshot_core.data.pool import Pool

    settings = {
        "name": "class_side",
        "side": "base",
        "images": "held_back",
        "ways": 2,
        "shots": 1,
        "query": 2,
    }
    protocol = protocol_from_dict(settings)
    trained = protocol.training_rows(pack)
    assert trained is not None
    tested = {int(row) for task in protocol.tasks(Pool([pack]), 3, 50) for row in task.rows}
    assert not set(trained.tolist()) & tested
    assert protocol_from_dict({"name": "any_way_any_shot"}).training_rows(pack) is None
