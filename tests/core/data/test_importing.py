"""Importers bring datasets of other formats into Meta-Album's: each is tried on real data."""

import csv
import inspect
import json
import re
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner
from PIL import Image
from sklearn.datasets import load_digits, load_sample_images

from anyshot_core.data.dataset import Dataset, check_dataset, read_dataset
from anyshot_core.data.images import decode_image, read_any
from anyshot_core.data.importing.images import CannotImport
from anyshot_core.data.importing.medmnist import KINDS, read_medmnist
from anyshot_core.data.pack import pack_dataset
from anyshot_starting_kit.cli import data_torchvision
from anyshot_starting_kit.cli.data_import import import_


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits that scikit-learn ships (UCI, grey images of 8 x 8), 60 of each, as folders of classes."""
    root = tmp_path_factory.mktemp("digits")
    found: Any = load_digits()
    for row, (pixels, label) in enumerate(zip(found.images, found.target, strict=True)):
        folder = root / f"digit {label}"
        folder.mkdir(exist_ok=True)
        if len(list(folder.iterdir())) < 60:
            Image.fromarray(np.rint(pixels * 255 / 16).astype(np.uint8)).save(folder / f"{row}.png")
    return root


def run(*arguments: str | Path, ok: bool = True) -> str:
    result = CliRunner().invoke(import_, [str(argument) for argument in arguments])
    assert (result.exit_code == 0) == ok, result.output
    return result.output


def prepared(pixels: np.ndarray) -> bytes:
    """The bytes that an image has in a pack."""
    return np.asarray(read_any(Image.fromarray(pixels))).transpose(2, 0, 1).tobytes()


def labels_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "labels.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.seconds("many draws and images")
def test_folder_of_digits_becomes_a_dataset_that_packs(digits: Path, tmp_path: Path) -> None:
    said = run(
        *("folder", digits, "--name", "OCR_DIG", "--out", tmp_path, "--domain", "OCR"),
        *("--licence", "CC BY 4.0", "--most-images", "40"),
    )
    assert "400 images, 10 classes" in said
    folder = tmp_path / "OCR_DIG"
    assert check_dataset(folder, least_images=40) == []
    pack = pack_dataset(folder, tmp_path)
    assert (len(pack), len(pack.classes)) == (400, 10)
    assert (pack.domain, pack.meta.licence) == ("OCR", "CC BY 4.0")
    # a learner of nearest neighbours finds the digits again: labels and pixels belong together
    pixels = pack.images[:, 0, ::16, ::16].reshape(400, -1).astype(float)
    distances = ((pixels[200:, None] - pixels[None, :200]) ** 2).sum(2)
    right = pack.labels[:200][distances.argmin(1)] == pack.labels[200:]
    assert right.mean() > 0.85


def test_what_is_written_is_what_packing_the_source_would_give(tmp_path: Path) -> None:
    """Central crop and resampling are those of `decode_image`; a photograph of 640 x 427 that scikit-learn ships."""
    (tmp_path / "in" / "flower").mkdir(parents=True)
    photo = tmp_path / "in" / "flower" / "1.png"
    Image.fromarray(load_sample_images().images[1]).save(photo)
    run("folder", tmp_path / "in", "--name", "FLW", "--out", tmp_path)
    written = decode_image(tmp_path / "FLW" / "images" / "FLW_00000.png")
    assert np.array_equal(written, decode_image(photo))
    with Image.open(tmp_path / "FLW" / "images" / "FLW_00000.png") as image:
        assert image.size == (128, 128)


@pytest.mark.seconds("imports a dataset")
def test_neither_names_nor_order_tell_the_class(digits: Path, tmp_path: Path) -> None:
    run("folder", digits, "--name", "D", "--out", tmp_path, "--most-images", "30")
    rows = labels_of(tmp_path / "D")
    names = [row["FILE_NAME"] for row in rows]
    assert names == [f"D_{place:05}.png" for place in range(300)]
    changes = sum(a["CATEGORY"] != b["CATEGORY"] for a, b in pairwise(rows))
    assert changes > 240  # 269 expected of a shuffled list, 9 of a sorted one


@pytest.mark.seconds("many draws and images")
def test_same_seed_gives_same_draw_and_another_seed_another(digits: Path, tmp_path: Path) -> None:
    def drawn(out: str, seed: int) -> set[bytes]:
        run(
            "folder",
            digits,
            "--name",
            "D",
            "--out",
            tmp_path / out,
            "--most-images",
            "20",
            "--seed",
            str(seed),
        )
        return {path.read_bytes() for path in (tmp_path / out / "D" / "images").iterdir()}

    first = drawn("a", 1)
    assert drawn("b", 1) == first
    assert len(drawn("c", 2) & first) < 100


@pytest.mark.seconds("many draws and images")
def test_every_image_has_the_same_chance_to_be_drawn(digits: Path, tmp_path: Path) -> None:
    """Not the first ones of a sorted listing: of 60 images, those of the first half are about half of the draws."""
    first_half = 0
    every = sorted((digits / "digit 0").iterdir())
    shown = {decode_image(path, convert=True).tobytes(): place for place, path in enumerate(every)}
    for seed in range(4):
        run(
            "folder",
            digits,
            "--name",
            f"D{seed}",
            "--out",
            tmp_path,
            "--most-images",
            "10",
            "--seed",
            str(seed),
        )
        folder = tmp_path / f"D{seed}"
        zeros = [row["FILE_NAME"] for row in labels_of(folder) if row["CATEGORY"] == "digit 0"]
        assert len(zeros) == 10
        first_half += sum(
            shown[decode_image(folder / "images" / n).tobytes()] < len(every) // 2 for n in zeros
        )
    assert 9 <= first_half <= 31  # binomial of 40: 3.5 standard deviations


def test_two_levels_of_folders_are_super_classes_and_splits_are_joined(digits: Path, tmp_path: Path) -> None:
    for split, below in (("train", "even"), ("test", "odd")):
        for digit in (0, 2) if below == "even" else (1, 3):
            place = tmp_path / "in" / split / below
            place.mkdir(parents=True, exist_ok=True)
            (place / f"digit {digit}").symlink_to(digits / f"digit {digit}", target_is_directory=True)
    said = run("folder", tmp_path / "in", "--name", "D", "--out", tmp_path, "--most-images", "5")
    assert "super-classes" in said
    assert "splits test, train were joined" in said
    dataset = read_dataset(tmp_path / "D")
    above = dict(zip(dataset.classes, dataset.super_classes, strict=True))
    assert above == {"digit 0": "even", "digit 2": "even", "digit 1": "odd", "digit 3": "odd"}


def test_small_classes_are_left_out_and_named(digits: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for digit, most in ((0, 60), (1, 7)):
        (tmp_path / "in" / f"digit {digit}").mkdir()
        for path in sorted((digits / f"digit {digit}").iterdir())[:most]:
            (tmp_path / "in" / f"digit {digit}" / path.name).symlink_to(path)
    said = run("folder", tmp_path / "in", "--name", "D", "--out", tmp_path, "--least-images", "40")
    assert Counter(row["CATEGORY"] for row in labels_of(tmp_path / "D")) == {"digit 0": 60}
    assert "left out the class digit 1: 7 images" in said


def test_csv_with_paths_and_super_classes_of_a_second_file(digits: Path, tmp_path: Path) -> None:
    rows = [
        "path;label",
        *(f"{path.relative_to(digits)};{path.parent.name}" for path in digits.rglob("*.png")),
    ]
    (tmp_path / "list.csv").write_text("\n".join(rows))
    (tmp_path / "above.csv").write_text(
        "class,super\n" + "\n".join(f"digit {d},{'even' if d % 2 == 0 else 'odd'}" for d in range(10))
    )
    run(
        *("csv", tmp_path / "list.csv", "--images", digits, "--name", "D", "--out", tmp_path),
        *("--super-classes", tmp_path / "above.csv", "--most-images", "4"),
    )
    dataset = read_dataset(tmp_path / "D")
    assert len(dataset.files) == 40
    above = dict(zip(dataset.classes, dataset.super_classes, strict=True))
    assert above["digit 7"] == "odd"
    assert above["digit 8"] == "even"


# What the guide says that each importer was tried on, of the datasets of Meta-Album that lie beside a checkout.


def given(name: str) -> Dataset:
    places = (above / "shared/data/meta_album_real" / name for above in Path(__file__).parents)
    found = next((place for place in places if place.exists()), None)
    if found is None:
        pytest.skip("shared/data/meta_album_real is not beside this checkout: real Meta-Album data")
    return read_dataset(found)


def written_as(real: Dataset, root: Path, place: Callable[[str, str], str]) -> None:
    """The images of a dataset below a folder, each where its class and the name of its file say."""
    for name, label in zip(real.files, real.labels, strict=True):
        target = root / place(real.classes[label], Path(name).name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(real.images / name)


def same_images(made: Dataset, real: Dataset, called: Mapping[str, str] | None = None) -> None:
    """Each image has the pixels of one of the source, and its class; `called` says where the class has another name."""
    known = {
        decode_image(real.images / name).tobytes(): real.classes[label]
        for name, label in zip(real.files, real.labels, strict=True)
    }
    assert len(made.classes) == len(real.classes)
    for name, label in zip(made.files, made.labels, strict=True):
        was = known[decode_image(made.images / name).tobytes()]
        assert (called or {}).get(was, was) == made.classes[label]


@pytest.mark.seconds("imports a dataset")
def test_leaves_of_plant_village_come_as_folders(tmp_path: Path) -> None:
    """`DIS_PVL`, in folders of its classes."""
    real = given("DIS_PVL")
    written_as(real, tmp_path / "leaves", lambda label, name: f"{label}/{name}")
    said = run("folder", tmp_path / "leaves", "--name", "PVL", "--out", tmp_path, "--most-images", "4")
    made = read_dataset(tmp_path / "PVL")
    assert f"{4 * len(real.classes)} images, {len(real.classes)} classes" in said
    same_images(made, real)


@pytest.mark.seconds("imports a dataset")
@pytest.mark.parametrize("name", ["MIC_PBC", "OCR_OMN"])
def test_blood_cells_and_omniglot_come_by_their_lists(tmp_path: Path, name: str) -> None:
    """The list of a dataset in Meta-Album's format is a CSV with paths."""
    real = given(name)
    run(
        *("csv", real.folder / "labels.csv", "--images", real.images, "--name", "CSV"),
        *("--out", tmp_path, "--most-images", "5", "--licence", "CC BY 4.0"),
    )
    made = read_dataset(tmp_path / "CSV")
    assert len(made.files) == 5 * len(real.classes) and made.info.licence == "CC BY 4.0"
    same_images(made, real)


@pytest.mark.seconds("imports a dataset")
def test_blood_cells_come_in_the_file_of_medmnist(tmp_path: Path) -> None:
    """`MIC_PBC` is what BloodMNIST was made of: its images in such a file, under the numbers of BloodMNIST."""
    real, kinds = given("MIC_PBC"), list(KINDS["bloodmnist"].classes)
    called = {"immature_granulocyte": "immature granulocytes"}
    pixels = np.stack([decode_image(real.images / name).transpose(1, 2, 0) for name in real.files])
    names = [called.get(name, name) for name in real.classes]
    labels = np.array([[kinds.index(names[label])] for label in real.labels])
    parts = {"train": slice(0, 200), "val": slice(200, 250), "test": slice(250, None)}
    arrays: dict[str, Any] = {f"{split}_images": pixels[rows] for split, rows in parts.items()}
    arrays |= {f"{split}_labels": labels[rows].astype(np.uint8) for split, rows in parts.items()}
    np.savez_compressed(tmp_path / "bloodmnist_128.npz", **arrays)
    run("medmnist", tmp_path / "bloodmnist_128.npz", "--name", "BLD", "--out", tmp_path, "--most-images", "6")
    made = read_dataset(tmp_path / "BLD")
    assert (made.info.licence, len(made.files)) == ("CC BY 4.0", 48)
    same_images(made, real, called)


@pytest.mark.seconds("imports a dataset")
def test_trash_comes_in_parquet(tmp_path: Path) -> None:
    """`MNF_TRS` in one file, as the Hub serves datasets: the images' own bytes, the classes' names in the schema."""
    real = given("MNF_TRS")
    features = {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": list(real.classes)}}
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    schema = pa.schema(
        [("image", image), ("label", pa.int64())],
        metadata={"huggingface": json.dumps({"info": {"features": features}})},
    )
    cells = [
        {"image": {"bytes": (real.images / name).read_bytes(), "path": name}, "label": int(label)}
        for name, label in zip(real.files, real.labels, strict=True)
    ]
    parquet.write_table(pa.Table.from_pylist(cells, schema), tmp_path / "trash.parquet", row_group_size=50)
    run("huggingface", tmp_path / "trash.parquet", "--name", "TRS", "--out", tmp_path)
    made = read_dataset(tmp_path / "TRS")
    assert len(made.files) == len(real.files)
    same_images(made, real)


@pytest.mark.slow("the first import of torchvision takes most of it")
def test_eurosat_comes_by_the_class_of_torchvision(tmp_path: Path) -> None:
    """`REM_ESA` in the folders in which torchvision keeps EuroSAT; MNIST's files are those of the digits, below."""
    pytest.importorskip("torchvision", reason="pip install torchvision")
    real = given("REM_ESA")
    written_as(real, tmp_path / "root/eurosat/2750", lambda label, name: f"{label}/{name}")
    said = run("torchvision", "EuroSAT", "--root", tmp_path / "root", "--name", "ESA", "--out", tmp_path)
    assert f"{len(real.files)} images, 10 classes" in said
    same_images(read_dataset(tmp_path / "ESA"), real)


def test_csv_names_the_line_of_a_file_that_is_not_there(digits: Path, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("file,class\ndigit 0/0.png,zero\ndigit 0/nine.png,zero\n")
    said = run("csv", tmp_path / "list.csv", "--images", digits, "--name", "D", "--out", tmp_path, ok=False)
    assert "line 3" in said
    assert "nine.png" in said
    assert not (tmp_path / "D").exists()


def test_csv_without_a_known_column_lists_those_that_it_has(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("where,what\na.png,zero\n")
    said = run("csv", tmp_path / "list.csv", "--name", "D", "--out", tmp_path, ok=False)
    assert "where, what" in said
    assert "--file-column" in said


def test_medmnist_file_gets_the_names_of_its_classes_and_its_licence(tmp_path: Path) -> None:
    """Grey images and numbers in the shape of MedMNIST's files; the numbers become the organs that they stand for."""
    found: Any = load_digits()
    images = np.rint(found.images[:500] * 255 / 16).astype(np.uint8)
    labels = found.target[:500, None].astype(np.uint8)
    parts = {"train": slice(0, 300), "val": slice(300, 400), "test": slice(400, None)}
    arrays = {f"{split}_images": images[rows] for split, rows in parts.items()}
    arrays |= {f"{split}_labels": labels[rows] for split, rows in parts.items()}
    np.savez_compressed(tmp_path / "organamnist_64.npz", **arrays)
    run("medmnist", tmp_path / "organamnist_64.npz", "--name", "MED", "--out", tmp_path, "--most-images", "9")
    made = read_dataset(tmp_path / "MED")
    assert Counter(made.labels.tolist()) == dict.fromkeys(range(10), 9)
    assert (made.info.licence, made.info.domain) == ("CC BY 4.0", "medical")
    known = {prepared(pixels): f"digit {label}" for pixels, label in zip(images, labels[:, 0], strict=True)}
    seen = {
        (made.classes[c], known[decode_image(made.images / f).tobytes()])
        for f, c in zip(made.files, made.labels, strict=True)
    }
    assert ("bladder", "digit 0") in seen
    assert ("pancreas", "digit 9") in seen
    assert len(seen) == 10


def test_medmnist_refuses_what_has_several_labels_and_what_is_no_such_file(tmp_path: Path) -> None:
    arrays = {f"{split}_images": np.zeros((2, 28, 28), np.uint8) for split in ("train", "val", "test")}
    arrays |= {f"{split}_labels": np.zeros((2, 14), np.uint8) for split in ("train", "val", "test")}
    np.savez(tmp_path / "breastmnist.npz", allow_pickle=False, **arrays)
    with pytest.raises(CannotImport, match="14 labels for each image"):
        read_medmnist(tmp_path / "breastmnist.npz")
    with pytest.raises(CannotImport, match="none of the datasets with one label"):
        read_medmnist(tmp_path / "chestmnist.npz")
    (tmp_path / "octmnist.npz").write_bytes(b"no")
    with pytest.raises(CannotImport, match="no file of MedMNIST"):
        read_medmnist(tmp_path / "octmnist.npz")


def test_hugging_face_parquet_with_class_labels_and_a_card(digits: Path, tmp_path: Path) -> None:
    """Two Parquet files as the Hub serves them: images as {bytes, path}, classes named in the schema."""
    names = sorted(path.name for path in digits.iterdir())
    features = {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": names}}
    folder = tmp_path / "digits"
    (folder / "data").mkdir(parents=True)
    (folder / "README.md").write_text(
        "---\nlicense: mit\ntask_categories:\n- image-classification\n---\n# Digits\n"
    )
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    schema = pa.schema(
        [("image", image), ("label", pa.int64())],
        metadata={"huggingface": json.dumps({"info": {"features": features}})},
    )
    cells = [
        {"image": {"bytes": path.read_bytes(), "path": path.name}, "label": names.index(path.parent.name)}
        for path in sorted(digits.rglob("*.png"))
    ]
    for name, part in (("train-00000", cells[::2]), ("test-00000", cells[1::2])):
        parquet.write_table(pa.Table.from_pylist(part, schema), folder / "data" / f"{name}.parquet")
    said = run("huggingface", folder, "--name", "DIG", "--out", tmp_path, "--most-images", "9")
    assert "2 files were joined" in said
    made = read_dataset(tmp_path / "DIG")
    assert made.info.licence == "mit"
    known = {decode_image(path, convert=True).tobytes(): path.parent.name for path in digits.rglob("*.png")}
    for name, label in zip(made.files, made.labels, strict=True):
        assert known[decode_image(made.images / name).tobytes()] == made.classes[label]


def test_a_folder_that_save_to_disk_wrote(tmp_path: Path) -> None:
    """`datasets` 5.2 wrote it, of twelve digits of scikit-learn: two splits, three files, and what `map` leaves."""
    written = Path(__file__).parent / "digits_of_datasets"
    assert list(written.rglob("cache-*.arrow")), "images that would be read twice"
    said = run("huggingface", written, "--name", "DIG", "--out", tmp_path)
    assert "12 images, 3 classes" in said and "3 files were joined" in said and "no licence" not in said
    made = read_dataset(tmp_path / "DIG")
    assert made.info.licence == "CC BY 4.0"
    found: Any = load_digits()
    known = {
        prepared(np.rint(pixels * 255 / 16).astype(np.uint8)): ("zero", "one", "two")[label]
        for pixels, label in zip(found.images, found.target, strict=True)
        if label < 3
    }
    for name, label in zip(made.files, made.labels, strict=True):
        assert known[decode_image(made.images / name).tobytes()] == made.classes[label]
    assert Counter(made.labels.tolist()) == {0: 4, 1: 4, 2: 4}
    (tmp_path / "no.arrow").write_bytes(b"no")
    assert "this is no Arrow stream" in run(
        "huggingface", tmp_path / "no.arrow", "--name", "NO", "--out", tmp_path, ok=False
    )
    (tmp_path / "state.json").write_text("{}")
    said = run("huggingface", tmp_path, "--name", "NO", "--out", tmp_path, ok=False)
    assert "a state.json names no files" in said


@pytest.mark.slow("the first import of torchvision takes most of it")
def test_torchvision_reads_what_its_own_class_reads(tmp_path: Path) -> None:
    """The digits in the files of MNIST, with its two splits, read by torchvision's class MNIST."""
    pytest.importorskip("torchvision", reason="pip install torchvision")
    found: Any = load_digits()
    raw = tmp_path / "root" / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for split, rows in (("train", slice(0, 200)), ("t10k", slice(200, 300))):
        images = np.rint(found.images[rows] * 255 / 16).astype(np.uint8)
        size = struct.pack(">4B3I", 0, 0, 8, 3, len(images), 8, 8)
        (raw / f"{split}-images-idx3-ubyte").write_bytes(size + images.tobytes())
        labels = found.target[rows].astype(np.uint8)
        (raw / f"{split}-labels-idx1-ubyte").write_bytes(
            struct.pack(">4BI", 0, 0, 8, 1, len(labels)) + labels.tobytes()
        )
    said = run("torchvision", "MNIST", "--root", tmp_path / "root", "--name", "MNI", "--out", tmp_path)
    assert "300 images, 10 classes" in said
    made = read_dataset(tmp_path / "MNI")
    counts = {made.classes[c].split()[0]: n for c, n in Counter(made.labels.tolist()).items()}
    assert counts == {str(digit): n for digit, n in Counter(found.target[:300].tolist()).items()}


PARTLY = {  # of classes that are for classification, what is left out
    "Places365": {"train-challenge", "test"},  # a larger draw of the same, and images without labels
    "STL10": {"unlabeled", "train+unlabeled"},
    "SVHN": {"extra"},  # easier ones
    "FGVCAircraft": {"trainval"},
}
_OTHER = re.compile(
    "Cityscapes|WIDERFace|MovingMNIST|LFW|Kitti|Sintel|Flying|HD1K|Stereo|CelebA|Kinetics|PCAM|EMNIST"
)


@pytest.mark.slow("the first import of torchvision takes most of it")
def test_the_parts_of_a_dataset_are_those_that_torchvision_has(tmp_path: Path) -> None:
    """ImageNet and Imagenette were asked for a part `test` that they have not; of two others a part was left out."""
    datasets = pytest.importorskip("torchvision", reason="pip install torchvision").datasets
    asked = 0
    for name in datasets.__all__:
        kind = getattr(datasets, name)
        of_parts = inspect.isclass(kind) and "split" in inspect.signature(kind).parameters
        if not of_parts or _OTHER.search(name):
            continue
        make: Any = kind
        with pytest.raises(ValueError, match="Valid values are") as refused:
            make(root=str(tmp_path), split="none of these")
        there = set(re.findall(r"'([^']+)'", str(refused.value).partition("Valid values are")[2]))
        taken = {part["split"] for part in data_torchvision._splits(kind)}
        assert taken == there - PARTLY.get(name, set()), name
        asked += 1
    assert asked > 10


def test_torchvision_is_asked_for_each_part_and_downloads_when_it_is_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("torchvision", reason="pip install torchvision").datasets
    calls: list[tuple[object, ...]] = []

    class EMNIST:
        classes = ("a", "b")

        def __init__(self, root: str, split: str, train: bool = True, download: bool = False) -> None:
            calls.append((split, train, download))

        def __len__(self) -> int:
            return 2

        def __getitem__(self, row: int) -> tuple[Image.Image, int]:
            if row > 1:
                raise IndexError
            return Image.fromarray(np.full((8, 8), row * 200, np.uint8)), row

    monkeypatch.setattr(datasets, "EMNIST", EMNIST)
    run("torchvision", "EMNIST", "--root", tmp_path, "--name", "EMN", "--out", tmp_path)
    assert calls == [("balanced", True, False), ("balanced", False, False)]
    assert sorted(row["CATEGORY"] for row in labels_of(tmp_path / "EMN")) == ["a", "a", "b", "b"]
    calls.clear()
    run("torchvision", "EMNIST", "--root", tmp_path, "--name", "EMO", "--out", tmp_path, "--download")
    assert calls == [("balanced", True, True), ("balanced", False, True)]


def test_torchvision_says_what_is_wrong(tmp_path: Path) -> None:
    pytest.importorskip("torchvision", reason="pip install torchvision")
    said = run("torchvision", "EuroSAT", "--root", tmp_path, "--name", "ESA", "--out", tmp_path, ok=False)
    assert "--download" in said
    said = run("torchvision", "EuroSATT", "--root", tmp_path, "--name", "ESA", "--out", tmp_path, ok=False)
    assert "no dataset EuroSATT" in said


def test_bad_images_stop_or_are_left_out_by_name(digits: Path, tmp_path: Path) -> None:
    (tmp_path / "in" / "zero").mkdir(parents=True)
    (tmp_path / "in" / "zero" / "broken.png").write_bytes(b"\x89PNG\r\n")
    sound = next((digits / "digit 0").iterdir())
    (tmp_path / "in" / "zero" / "a.png").write_bytes(sound.read_bytes())
    for hidden in (".a.png", "._a.png"):  # what a Mac leaves beside each file, and no image
        (tmp_path / "in" / "zero" / hidden).write_bytes(b"\0\5\x16\7")
    said = run("folder", tmp_path / "in", "--name", "D", "--out", tmp_path, ok=False)
    assert "zero/broken.png" in said and "._a" not in said
    assert not list(tmp_path.glob("*D*"))
    said = run("folder", tmp_path / "in", "--name", "D", "--out", tmp_path, "--skip-bad")
    assert "left out zero/broken.png" in said
    assert len(labels_of(tmp_path / "D")) == 1


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ((), "no images in class folders"),
        (("a.png", "zero/b.png"), "different depths"),
    ],
)
def test_folders_that_are_no_class_folders_are_refused(
    made: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    for name in made:
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(tmp_path / "in" / name)
    assert said in run("folder", tmp_path / "in", "--name", "D", "--out", tmp_path, ok=False)


def test_a_folder_that_is_there_is_not_written_over(digits: Path, tmp_path: Path) -> None:
    run("folder", digits, "--name", "D", "--out", tmp_path, "--most-images", "2")
    before = (tmp_path / "D" / "labels.csv").read_bytes()
    assert "is there already" in run("folder", digits, "--name", "D", "--out", tmp_path, ok=False)
    assert (tmp_path / "D" / "labels.csv").read_bytes() == before
    assert "is no name" in run("folder", digits, "--name", "../D", "--out", tmp_path, ok=False)
