"""Everything that can be wrong with a dataset: refused with dataset, file and remedy, and left out with --skip-bad."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from anyshot_core.data.dataset import check_dataset, read_dataset
from anyshot_core.data.pack import pack_dataset
from anyshot_core.data.problems import BadDataset, PackProblem, Severity
from anyshot_starting_kit.cli.data import data
from tests.core.data.factory import labels_of, write_dataset, write_labels


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A good dataset of 3 classes x 4 images."""
    return write_dataset(tmp_path / "BIRDS")


def missing_image_column(folder: Path) -> None:
    write_labels(folder, labels_of(folder), header=("FILE", "CATEGORY", "SUPER_CATEGORY"))


def missing_category_column(folder: Path) -> None:
    write_labels(folder, labels_of(folder), header=("FILE_NAME", "LABEL", "SUPER_CATEGORY"))


def listed_but_absent(folder: Path) -> None:
    (folder / "images" / "c1_2.png").unlink()


def present_but_not_listed(folder: Path) -> None:
    shutil.copy(folder / "images" / "c0_0.png", folder / "images" / "stranger.png")


def duplicate_file_name(folder: Path) -> None:
    write_labels(folder, [*labels_of(folder), ["c0_0.png", "class 2", ""]])


def unreadable_image(folder: Path) -> None:
    image = folder / "images" / "c1_2.png"
    image.write_bytes(image.read_bytes()[:300])


def not_an_image(folder: Path) -> None:
    (folder / "images" / "c1_2.png").write_bytes(b"this is a text, not an image")


def empty_image(folder: Path) -> None:
    (folder / "images" / "c1_2.png").write_bytes(b"")


def grey_image(folder: Path) -> None:
    Image.fromarray(np.full((128, 128), 7, dtype=np.uint8)).save(folder / "images" / "c1_2.png")


def transparent_image(folder: Path) -> None:
    Image.fromarray(np.full((128, 128, 4), 7, dtype=np.uint8)).save(folder / "images" / "c1_2.png")


def sixteen_bit_image(folder: Path) -> None:
    Image.fromarray(np.full((128, 128), 7000, dtype=np.uint16)).save(folder / "images" / "c1_2.png")


def wrong_encoding(folder: Path) -> None:
    text = (folder / "labels.csv").read_text().replace("class 1", "Vögel")
    (folder / "labels.csv").write_bytes(text.encode("latin-1"))


def zero_classes(folder: Path) -> None:
    write_labels(folder, [])
    shutil.rmtree(folder / "images")
    (folder / "images").mkdir()


def empty_table(folder: Path) -> None:
    (folder / "labels.csv").write_text("")


def empty_category(folder: Path) -> None:
    rows = labels_of(folder)
    rows[4][1] = " "
    write_labels(folder, rows)


def path_that_climbs_out(folder: Path) -> None:
    write_labels(folder, [*labels_of(folder), ["../labels.csv", "class 2", ""]])


def no_info(folder: Path) -> None:
    (folder / "info.json").unlink()


def info_not_json(folder: Path) -> None:
    (folder / "info.json").write_text('{\n "dataset_name": "BIRDS",\n')


def info_wrong_type(folder: Path) -> None:
    (folder / "info.json").write_text(json.dumps({"dataset_name": "BIRDS", "image_column_name": 3}))


def name_that_climbs_out(folder: Path) -> None:
    (folder / "info.json").write_text(json.dumps({"dataset_name": "../../etc/passwd"}))


def name_that_colours_terminals(folder: Path) -> None:
    (folder / "info.json").write_text(json.dumps({"dataset_name": "\x1b[31mBIRDS"}))


# What was done, then file, line, found and remedy as the message must name them; whether --skip-bad helps.
CASES: list[tuple[Callable[[Path], None], str, int | None, str, str, bool]] = [
    (
        missing_image_column,
        "labels.csv",
        1,
        "columns FILE, CATEGORY",
        "image_column_name in info.json",
        False,
    ),
    (
        missing_category_column,
        "labels.csv",
        1,
        "columns FILE_NAME, LABEL",
        "category_column_name in info.json",
        False,
    ),
    (listed_but_absent, "labels.csv", 9, "'c1_2.png', which is not in images/", "Add the image", True),
    (present_but_not_listed, "images/stranger.png", None, "does not list", "Add a line", True),
    (
        duplicate_file_name,
        "labels.csv",
        14,
        "'c0_0.png' again (first on line 2)",
        "Remove one of the two",
        True,
    ),
    (unreadable_image, "images/c1_2.png", None, "cannot be decoded", "Replace the file", True),
    (not_an_image, "images/c1_2.png", None, "not an image", "Replace the file", True),
    (empty_image, "images/c1_2.png", None, "empty file", "Replace the file", True),
    (grey_image, "images/c1_2.png", None, "a grey image (mode L)", "--convert", True),
    (transparent_image, "images/c1_2.png", None, "transparency (mode RGBA)", "--convert", True),
    (sixteen_bit_image, "images/c1_2.png", None, "a 16-bit image", "--convert", True),
    (wrong_encoding, "labels.csv", 3, "not UTF-8 (byte 0xf6)", "Save the file as UTF-8", False),
    (zero_classes, "labels.csv", None, "zero classes", "List the images", False),
    (empty_table, "labels.csv", 1, "an empty file", "Write the column names", False),
    (empty_category, "labels.csv", 6, "no category", "Fill the cell", True),
    (path_that_climbs_out, "labels.csv", 14, "'../labels.csv'", "without '..'", True),
    (no_info, "info.json", None, "nothing", "images/, labels.csv and info.json", False),
    (info_not_json, "info.json", 3, "not JSON", "Correct the file's syntax", False),
    (name_that_climbs_out, "info.json", None, "the name '../../etc/passwd'", "another dataset_name", False),
    (name_that_colours_terminals, "info.json", None, "'\\x1b[31mBIRDS'", "another dataset_name", False),
    (info_wrong_type, "info.json", None, "3 under 'image_column_name'", "Correct or remove", False),
]


@pytest.mark.parametrize(
    ("spoil", "file", "line", "found", "remedy", "skippable"), CASES, ids=[case[0].__name__ for case in CASES]
)
def test_bad_input(
    folder: Path,
    tmp_path: Path,
    spoil: Callable[[Path], None],
    file: str,
    line: int | None,
    found: str,
    remedy: str,
    skippable: bool,
) -> None:
    assert check_dataset(folder) == []
    spoil(folder)
    problem = next(p for p in check_dataset(folder) if p.severity is Severity.ERROR)
    assert (problem.dataset, problem.file, problem.line) == ("BIRDS", file, line)
    assert found in problem.found
    assert remedy in problem.remedy
    assert problem.expected
    with pytest.raises(BadDataset) as refused:
        pack_dataset(folder, tmp_path / "packs")
    for part in ("BIRDS", file, found, remedy):
        assert part in str(refused.value)
    assert not list((tmp_path / "packs").glob("*.anyshot-pack"))
    if skippable:
        pack = pack_dataset(folder, tmp_path / "packs", skip_bad=True)
        assert len(pack) == 11 + (
            spoil in (present_but_not_listed, duplicate_file_name, path_that_climbs_out)
        )
        (left_out,) = pack.meta.left_out
        assert file in left_out.file
        assert found in left_out.reason
    else:
        with pytest.raises(BadDataset):
            pack_dataset(folder, tmp_path / "packs", skip_bad=True)


def test_all_problems_are_listed_at_once(folder: Path) -> None:
    listed_but_absent(folder)
    duplicate_file_name(folder)
    present_but_not_listed(folder)
    with pytest.raises(BadDataset) as refused:
        read_dataset(folder)
    assert len(refused.value.problems) == 3


def test_a_class_with_fewer_images_than_a_task_needs(folder: Path) -> None:
    (problem, *rest) = check_dataset(folder, least_images=5)
    assert len(rest) == 2
    assert "4 images of class 'class 0'" in problem.found
    assert "at least 5" in problem.expected


def test_no_folder_at_all(tmp_path: Path) -> None:
    (problem,) = check_dataset(tmp_path / "nothing")
    assert problem.found == "no folder"


def test_wrong_numbers_in_info_are_a_warning(folder: Path, tmp_path: Path) -> None:
    info = json.loads((folder / "info.json").read_text())
    (folder / "info.json").write_text(json.dumps(info | {"total_categories": 9}))
    (problem,) = check_dataset(folder)
    assert problem.severity is Severity.WARNING
    assert len(pack_dataset(folder, tmp_path)) == 12


def test_windows_line_endings_and_a_byte_order_mark_are_fine(folder: Path) -> None:
    text = (folder / "labels.csv").read_text().replace("\r\n", "\n").replace("\n", "\r\n")
    (folder / "labels.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert check_dataset(folder) == []


def test_convert_takes_grey_transparent_and_sixteen_bit_images(folder: Path, tmp_path: Path) -> None:
    pack = pack_dataset(folder, tmp_path / "good")
    row = [file for file, *_ in labels_of(folder)].index("c1_2.png")
    values = {
        grey_image: 7,
        sixteen_bit_image: 27,
        transparent_image: 248,
    }  # 7000 / 257; 7 at opacity 7 on white
    for spoil, value in values.items():
        spoil(folder)
        converted = pack_dataset(folder, tmp_path / spoil.__name__, convert=True)
        assert np.abs(converted.images[row].astype(int) - value).max() <= 1
        assert np.array_equal(converted.images[0], pack.images[0])


def test_a_class_that_loses_all_its_images_is_gone(folder: Path, tmp_path: Path) -> None:
    for image in range(4):
        (folder / "images" / f"c1_{image}.png").write_bytes(b"damaged")
    pack = pack_dataset(folder, tmp_path, skip_bad=True)
    assert pack.classes == ("class 0", "class 2")
    assert len(pack.meta.left_out) == 4
    good = write_dataset(tmp_path / "again" / "BIRDS")
    whole = pack_dataset(good, tmp_path / "again")
    for c, was in ((0, 0), (1, 2)):
        assert np.array_equal(pack.images[pack.class_rows[c]], whole.images[whole.class_rows[was]])
    assert type(pack).open(pack.path).classes == pack.classes  # digests fit after closing the gaps


def test_a_pack_made_with_skip_bad_is_not_taken_for_a_whole_one(folder: Path, tmp_path: Path) -> None:
    grey_image(folder)
    pack_dataset(folder, tmp_path, skip_bad=True)
    with pytest.raises(BadDataset, match="grey"):
        pack_dataset(folder, tmp_path)


def test_the_commands_say_it_too(folder: Path, tmp_path: Path) -> None:
    grey_image(folder)
    checked = CliRunner().invoke(data, ["check", str(folder)])
    assert checked.exit_code == 1
    assert "BIRDS: images/c1_2.png: found a grey image" in checked.output
    as_json = CliRunner().invoke(data, ["check", "--json", str(folder)])
    assert json.loads(as_json.stdout)[0]["file"] == "images/c1_2.png"
    refused = CliRunner().invoke(data, ["pack", str(folder), "--out", str(tmp_path / "packs")])
    assert refused.exit_code == 1
    assert "pack with --convert" in refused.output
    packed = CliRunner().invoke(data, ["pack", str(folder), "--out", str(tmp_path / "packs"), "--skip-bad"])
    assert packed.exit_code == 0
    assert "11 images, 3 classes, 1 left out" in packed.output
    assert "left out images/c1_2.png: a grey image" in packed.output


def test_a_problem_reads_as_one_sentence() -> None:
    problem = PackProblem("BIRDS", "labels.csv", 3, "nothing", "something", "Do it.")
    assert str(problem) == "BIRDS: labels.csv, line 3: found nothing; expected something. Do it."
