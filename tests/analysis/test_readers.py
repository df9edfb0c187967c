"""The papers' datasets on small folders made here, in their public layouts."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from anyshot_analysis.readers import (
    BadLayout,
    Records,
    read_csv_splits,
    read_femnist,
    read_split_folders,
    read_tiered,
    read_zappos,
    write_meta_album,
)
from anyshot_analysis.readers.command import read_dataset
from anyshot_core.data.dataset import check_dataset
from anyshot_core.data.pack import pack_dataset
from anyshot_core.data.pool import Pool
from anyshot_core.evaluations import UnseenWriters
from anyshot_core.protocols import Roles, Writers
from anyshot_core.protocols.attribute_pairs import AttributePairs, feasible_pairs

SPLITS = ("train", "val", "test")


def save_image(path: Path, value: int, size: int = 32) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(value).integers(0, 256, (size, size, 3), dtype=np.uint8)
    pixels[0, 0] = value
    Image.fromarray(pixels).save(path)


def check_records(records: Records, classes: int, images: int) -> None:
    assert len(records) == 3 * classes * images
    for split in SPLITS:
        assert len({records.classes[row] for row in records.rows(split)}) == classes
    train, test = ({records.classes[row] for row in records.rows(s)} for s in ("train", "test"))
    assert not train & test


def test_mini_imagenet(tmp_path: Path) -> None:
    for s, split in enumerate(SPLITS):
        with (tmp_path / f"{split}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["filename", "label"])
            for i in range(6):
                save_image(tmp_path / "images" / f"n{s}{i}.png", 10 * s + i)
                writer.writerow([f"n{s}{i}.png", f"n0{s}{i % 2}"])
    records = read_csv_splits(tmp_path)
    check_records(records, 2, 3)
    assert np.asarray(records.load(7))[0, 0, 0] == 11
    (tmp_path / "images" / "n00.png").unlink()
    with pytest.raises(BadLayout, match=r"n00\.png"):
        read_csv_splits(tmp_path)


def test_cifar_fs_with_lists_and_fc100_with_split_folders(tmp_path: Path) -> None:
    lists = tmp_path / "cifar" / "splits" / "bertinetto"
    lists.mkdir(parents=True)
    for s, split in enumerate(SPLITS):
        names = [f"class_{s}_{c}" for c in range(2)]
        (lists / f"{split}.txt").write_text("\n".join(names) + "\n")
        for c, name in enumerate(names):
            for i in range(3):
                save_image(tmp_path / "cifar" / "data" / name / f"{i}.png", 20 * s + 5 * c + i)
                save_image(tmp_path / "fc100" / split / name / f"{i}.png", 20 * s + 5 * c + i)
    for folder in ("cifar", "fc100"):
        records = read_split_folders(tmp_path / folder)
        check_records(records, 2, 3)
        for row, (name, split) in enumerate(zip(records.classes, records.splits, strict=True)):
            side, number = map(int, name.split("_")[1:])
            assert np.asarray(records.load(row))[0, 0, 0] == 20 * side + 5 * number + row % 3
            assert split == SPLITS[side]
    with pytest.raises(BadLayout, match="no train, val or test"):
        read_split_folders(tmp_path)


def test_splits_have_the_names_of_either_custom_and_what_is_no_image_is_passed_over(tmp_path: Path) -> None:
    """Base, validation and novel are train, val and test elsewhere."""
    for name in ("base", "validation", "novel", "leftovers"):
        save_image(tmp_path / name / f"class_{name}" / "0.PNG", 3)
        (tmp_path / name / f"class_{name}" / "notes.txt").write_text("no image")
    records = read_split_folders(tmp_path)
    assert list(zip(records.classes, records.splits, strict=True)) == [
        ("class_base", "train"),
        ("class_novel", "test"),
        ("class_validation", "val"),
    ]


def test_tiered_imagenet(tmp_path: Path) -> None:
    for s, split in enumerate(SPLITS):
        images = np.full((6, 8, 8, 3), 40 * s, dtype=np.uint8)
        np.savez(tmp_path / f"{split}_images.npz", images=images)
        np.savez(tmp_path / f"{split}_labels.npz", labels=np.arange(6) % 2)
    records = read_tiered(tmp_path)
    check_records(records, 2, 3)
    assert [np.asarray(records.load(i))[0, 0, 0] for i in (5, 6, 12)] == [0, 40, 80]
    np.savez(tmp_path / "val_labels.npz", labels=np.arange(5))
    with pytest.raises(BadLayout, match="6 images and 5 labels"):
        read_tiered(tmp_path)


def test_femnist_splits_writers_not_images(tmp_path: Path) -> None:
    users = [f"f{i:02d}" for i in range(20)]
    for part, own in enumerate((users[:12], users[12:])):
        data = {user: {"x": [[0.5] * 784] * 4, "y": [0, 1, 1, 2]} for user in own}
        (tmp_path / f"part{part}.json").write_text(json.dumps({"users": own, "user_data": data}))
    found = read_femnist(tmp_path, {"train": 14, "val": 3, "test": 3})
    sides = {
        user: {s for s, w in zip(found.records.splits, found.writers, strict=True) if w == user}
        for user in users
    }
    assert all(len(own) == 1 for own in sides.values())
    counts = [sum(own == {split} for own in sides.values()) for split in SPLITS]
    assert counts == [14, 3, 3]
    assert found.records.load(0).size == (28, 28)
    assert set(np.asarray(found.records.load(0)).ravel()) == {128}, "floats from 0 to 1 as bytes"
    assert found.records.classes[:4] == ("0", "1", "1", "2")
    with pytest.raises(BadLayout, match="LEAF"):
        read_femnist(tmp_path / "nowhere")


def test_the_writers_of_femnist_are_as_many_as_the_papers_and_dealt_at_random(tmp_path: Path) -> None:
    """2,509, 538 and 538 of 3,585; LEAF's names begin with where they were written, so order is no draw."""
    users = [f"f{i:04d}" for i in range(3585)]
    data = {user: {"x": [[0.0] * 784], "y": [0]} for user in users}
    (tmp_path / "all.json").write_text(json.dumps({"users": users, "user_data": data}))
    records = read_femnist(tmp_path).records
    assert [len(records.rows(split)) for split in SPLITS] == [2509, 538, 538]
    halves = [sum(row < len(users) // 2 for row in records.rows(split)) for split in SPLITS]
    assert np.allclose(halves, [1254, 269, 269], rtol=0.15), halves
    assert read_femnist(tmp_path).records.splits == records.splits, "the same at each reading"


def test_zappos_attributes_meet_their_images(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = rng.random((80, 4)) < 0.6
    with (tmp_path / "meta-data-bin.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["CID", "Leather", "Heel", "Laces", "Zip"])
        for i in range(80):
            save_image(tmp_path / "Shoes" / f"{1000 + i}.{i}.jpg", i, 16)
            writer.writerow([f"{1000 + i}-{i}", *table[i].astype(int)])
        writer.writerow(["9-9", 1, 1, 1, 1])  # a line whose image is not there
    found = read_zappos(tmp_path)
    np.testing.assert_array_equal(found.table, table)
    assert found.attributes == ("Leather", "Heel", "Laces", "Zip")
    assert found.files[3].name == "1003.3.jpg"
    for pair in feasible_pairs(found.table, least=10):
        both = found.table[:, pair].all(axis=1)
        assert both.sum() >= 10
    with pytest.raises(BadLayout, match="binary attributes"):
        read_zappos(tmp_path / "Shoes")


def test_a_split_becomes_a_meta_album_folder_that_packs(tmp_path: Path) -> None:
    for split in SPLITS:
        for name in ("a", "b"):
            for i in range(3):
                save_image(
                    tmp_path / "source" / split / f"{split}_{name}" / f"{i}.png", hash((split, name)) % 50 + i
                )
    records = read_split_folders(tmp_path / "source")
    folder = write_meta_album(records, "val", tmp_path / "CIFAR_VAL", "CIFAR-FS")
    assert not check_dataset(folder)
    pack = pack_dataset(folder, tmp_path)
    assert len(pack) == 6
    assert set(pack.classes) == {"val_a", "val_b"}
    with pytest.raises(BadLayout, match="no image in the split"):
        write_meta_album(records, "none", tmp_path / "x", "CIFAR-FS")


def read_by_command(kind: str, source: Path, out: Path) -> str:
    done = CliRunner().invoke(read_dataset, [kind, str(source), str(out)])
    assert done.exit_code == 0, done.output
    return done.output


def test_writers_become_tasks_of_writers_that_nobody_trained_on(tmp_path: Path) -> None:
    """FEMNIST by the command, packed, and its unseen writers as the further evaluation has them."""
    source = tmp_path / "leaf"
    source.mkdir()
    users = [f"w{i}" for i in range(20)]
    data = {
        user: {"x": [[0.02 * i + 0.01 * k] * 784 for k in range(6)], "y": [0, 0, 0, 1, 1, 1]}
        for i, user in enumerate(users)
    }
    (source / "a.json").write_text(json.dumps({"users": users, "user_data": data}))
    assert "FEMNIST: 120 images" in read_by_command("femnist", source, tmp_path / "out")
    pack = pack_dataset(tmp_path / "out" / "FEMNIST", tmp_path)
    pool = Pool([pack])
    train, test = Writers(part="meta_train"), Writers(part="meta_test")
    assert not set(train.writers(pack)) & set(test.writers(pack))
    assert test.task(pool, 0, 0).ways == 2
    (point,) = UnseenWriters().points(Roles(test, train), ())
    assert point.key == "unseen_writers"


def test_attributes_become_pairs_that_nobody_trained_on(tmp_path: Path) -> None:
    source = tmp_path / "zappos"
    rng = np.random.default_rng(0)
    lines = ["CID,Toe.Round,Heel.High,Sole.Flat,Lace.Yes"]
    for i in range(120):
        save_image(source / "Shoes" / f"{i}.{i}.jpg", i % 250)
        lines.append(",".join([f"{i}-{i}", *map(str, rng.integers(0, 2, 4))]))
    (source / "meta-data-bin.csv").write_text("\n".join(lines))
    assert "ZAPPOS: 120 images" in read_by_command("zappos", source, tmp_path / "out")
    pack = pack_dataset(tmp_path / "out" / "ZAPPOS", tmp_path)
    assert {"Toe.Round", "Heel.High", "Sole.Flat", "Lace.Yes"} == set(pack.annotations)
    task = AttributePairs(shots=1, query=2).task(Pool([pack]), 0, 0)  # pyright: ignore[reportArgumentType]
    assert task.ways == 2


def test_each_split_of_mini_imagenet_becomes_a_dataset_of_its_own_classes(tmp_path: Path) -> None:
    source = tmp_path / "mini"
    for s, split in enumerate(SPLITS):
        lines = ["filename,label"]
        for i in range(4):
            save_image(source / "images" / f"n{s}{i}.png", 10 * s + i)
            lines.append(f"n{s}{i}.png,n0{s}{i % 2}")
        (source / f"{split}.csv").parent.mkdir(exist_ok=True)
        (source / f"{split}.csv").write_text("\n".join(lines) + "\n")
    said = read_by_command("miniimagenet", source, tmp_path / "out")
    for s, split in enumerate(SPLITS):
        name = f"MINIIMAGENET_{split.upper()}"
        assert f"{name}: 4 images" in said
        assert set(pack_dataset(tmp_path / "out" / name, tmp_path).classes) == {f"n0{s}0", f"n0{s}1"}


def test_a_folder_of_another_layout_is_refused_in_words(tmp_path: Path) -> None:
    done = CliRunner().invoke(read_dataset, ["miniimagenet", str(tmp_path), str(tmp_path / "out")])
    assert done.exit_code == 1 and "a split is missing" in " ".join(done.output.split())
