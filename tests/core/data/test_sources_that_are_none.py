"""Sources that an importer cannot take: each says what was found, where, and what to do."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from PIL import Image

from anyshot_core.data.importing.hugging_face import read_parquet
from anyshot_core.data.importing.images import CannotImport, Source, SourceImage
from anyshot_core.data.importing.medmnist import read_medmnist
from anyshot_core.data.importing.tables import read_csv, read_super_classes
from anyshot_core.data.importing.writing import About, ImportChoice, write_dataset


def picture() -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (4, 4)).save(target, "PNG")
    return target.getvalue()


def features(**types: dict[str, Any]) -> dict[bytes, bytes]:
    return {b"huggingface": json.dumps({"info": {"features": types}}).encode()}


def parquet_of(path: Path, columns: dict[str, Any], metadata: dict[bytes, bytes] | None = None) -> Path:
    table = pa.table(columns)
    parquet.write_table(table.replace_schema_metadata(metadata) if metadata else table, path)
    return path


LABELLED = features(image={"_type": "Image"}, label={"_type": "ClassLabel", "names": ["a", "b"]})


def no_files(folder: Path) -> None:
    read_parquet(folder)


def broken_state(folder: Path) -> None:
    (folder / "state.json").write_text('{"files": []}')
    read_parquet(folder)


def no_parquet(folder: Path) -> None:
    (folder / "x.parquet").write_bytes(b"no parquet")
    read_parquet(folder / "x.parquet")


def no_arrow(folder: Path) -> None:
    (folder / "x.arrow").write_bytes(b"no arrow")
    read_parquet(folder / "x.arrow")


def two_labels(folder: Path) -> None:
    columns = {"image": [picture()], "label": [0], "labels": [1]}
    read_parquet(parquet_of(folder / "x.parquet", columns))


def unknown_column(folder: Path) -> None:
    read_parquet(parquet_of(folder / "x.parquet", {"image": [picture()], "label": [0]}), image="photo")


def class_out_of_range(folder: Path) -> None:
    path = parquet_of(folder / "x.parquet", {"image": [picture()], "label": [2]}, LABELLED)
    list(read_parquet(path).images)


def path_alone(folder: Path) -> None:
    columns = {"image": [{"path": "a.png", "bytes": None}], "label": ["a"]}
    list(read_parquet(parquet_of(folder / "x.parquet", columns)).images)


def no_image(folder: Path) -> None:
    list(read_parquet(parquet_of(folder / "x.parquet", {"image": [b"no image"], "label": ["a"]})).images)


def three_columns(folder: Path) -> None:
    (folder / "x.csv").write_text("a,b,c\n1,2,3\n")
    read_super_classes(folder / "x.csv")


def no_csv(folder: Path) -> None:
    (folder / "x.csv").write_bytes(b"\xff\xfe\x00")
    read_csv(folder / "x.csv")


def empty_cell(folder: Path) -> None:
    (folder / "x.csv").write_text("FILE_NAME,CATEGORY\na.png,\n")
    list(read_csv(folder / "x.csv").images)


def unknown_kind(folder: Path) -> None:
    read_medmnist(folder / "mine.npz")


def no_medmnist(folder: Path) -> None:
    (folder / "bloodmnist.npz").write_bytes(b"no numpy")
    read_medmnist(folder / "bloodmnist.npz")


def medmnist_of(folder: Path, images: np.ndarray, labels: np.ndarray) -> None:
    parts: dict[str, Any] = {f"{split}_images": images for split in ("train", "val", "test")}
    parts |= {f"{split}_labels": labels for split in ("train", "val", "test")}
    np.savez(folder / "bloodmnist.npz", **parts)
    read_medmnist(folder / "bloodmnist.npz")


def other_kind(folder: Path) -> None:
    medmnist_of(folder, np.zeros((2, 8, 8), np.uint8), np.array([[0], [99]]))


def volumes(folder: Path) -> None:
    medmnist_of(folder, np.zeros((2, 8, 8, 8), np.uint8), np.array([[0], [1]]))


def written(folder: Path, images: list[SourceImage], **choice: Any) -> None:
    write_dataset(Source(iter(images)), folder / "out", About("D"), ImportChoice(**choice))


def one(category: str, above: str = "") -> SourceImage:
    return SourceImage(Image.new("RGB", (4, 4)), category, "x.png", above)


def nothing_in_it(folder: Path) -> None:
    written(folder, [])


def too_few(folder: Path) -> None:
    written(folder, [one("a"), one("b"), one("b")], least=3)


def in_two_super_classes(folder: Path) -> None:
    written(folder, [one("a", "up"), one("a", "down")], least=1)


SAID: dict[Callable[[Path], None], str] = {
    no_files: "found neither Parquet nor Arrow files. Download the dataset with",
    broken_state: "a state.json names no files",
    no_parquet: "x.parquet: this is no Parquet file",
    no_arrow: "x.arrow: this is no Arrow stream",
    two_labels: "found no column that is surely the one; its columns are image, label, labels. Name it with "
    "--class-column",
    unknown_column: "found no column “photo”; its columns are image, label. Name it with --image-column",
    class_out_of_range: "x.parquet, row 0: found 2 in “label”; expected a class",
    path_alone: "x.parquet, row 0: the file holds no bytes of the image, only a path",
    no_image: "x.parquet, row 0: the bytes are no image",
    three_columns: "found 3 columns; expected two: the class and its super-class",
    no_csv: "x.csv: this is no CSV file in UTF-8",
    empty_cell: "x.csv, line 2: the cell of “CATEGORY” is empty",
    unknown_kind: "“mine” is none of the datasets with one label an image",
    no_medmnist: "this is no file of MedMNIST",
    other_kind: "found labels from 0 to 99; bloodmnist has 8 classes. Is --kind right?",
    volumes: "3D datasets have no place in Meta-Album's format",
    nothing_in_it: "The source holds no image.",
    too_few: "No class has 3 images; the largest has 2.",
    in_two_super_classes: "The class a is in two super-classes, up and down. Rename one of the two.",
}


@pytest.mark.parametrize("bring", SAID, ids=lambda bring: bring.__name__)
def test_what_cannot_be_taken_says_what_was_found(tmp_path: Path, bring: Callable[[Path], None]) -> None:
    with pytest.raises(CannotImport) as caught:
        bring(tmp_path)
    assert SAID[bring] in str(caught.value)
    assert not list((tmp_path / "out").rglob("labels.csv"))


def test_a_licence_is_read_off_whatever_a_folder_has(tmp_path: Path) -> None:
    """A card, or what `save_to_disk` left; neither has to be there, or to be whole. Of a list it is the first: it was
    the dash before it."""
    parquet_of(tmp_path / "x.parquet", {"image": [picture()], "label": ["a"]})
    assert read_parquet(tmp_path).licence == ""
    (tmp_path / "dataset_info.json").write_text("{")
    assert read_parquet(tmp_path).licence == ""
    (tmp_path / "dataset_info.json").write_text('{"license": "mit"}')
    assert read_parquet(tmp_path).licence == "mit"
    (tmp_path / "README.md").write_text("no card")
    assert read_parquet(tmp_path).licence == ""
    for card in ("license:\n- cc-by-4.0\n- mit", "license:\n  - cc-by-4.0", "license: 'cc-by-4.0'"):
        (tmp_path / "README.md").write_text(f"---\n{card}\n---\n")
        assert read_parquet(tmp_path).licence == "cc-by-4.0", card
