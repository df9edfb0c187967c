"""Packs: what is in them, that they cannot be altered unnoticed, that packing is atomic and resumes."""

import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from anyshot_core.data import packing
from anyshot_core.data.block_workers import BlockWorkers
from anyshot_core.data.domains import guess_domain
from anyshot_core.data.images import IMAGE_BYTES, decode_image
from anyshot_core.data.journal import Journal
from anyshot_core.data.layout import BLOCK_IMAGES, PAGE
from anyshot_core.data.pack import SUFFIX, Pack, pack_dataset
from anyshot_core.data.pool import Pool
from anyshot_core.data.problems import BadDataset, BadPack, DataError
from anyshot_core.data.series import pack_series
from anyshot_starting_kit.cli.data import data
from tests.core.data.factory import labels_of, write_dataset, write_labels


def test_a_pack_holds_what_the_folder_holds(tmp_path: Path) -> None:
    folder = write_dataset(
        tmp_path / "BIRDS", classes=3, images=5, domain="large animals", super_classes=True
    )
    pack = pack_dataset(folder, tmp_path)
    assert pack.path == tmp_path / f"BIRDS{SUFFIX}"
    assert (pack.name, pack.domain, len(pack)) == ("BIRDS", "large animals", 15)
    assert pack.classes == ("class 0", "class 1", "class 2")
    assert pack.super_classes == ("group 0", "group 1", "group 0")
    assert pack.labels.dtype == np.int64
    assert pack.labels.tolist() == [0, 1, 2] * 5
    assert pack.images.shape == (15, 3, 128, 128)
    assert not pack.images.flags.writeable
    for row, (file, *_) in enumerate(labels_of(folder)):
        with Image.open(folder / "images" / file) as image:
            assert np.array_equal(pack.images[row], np.asarray(image).transpose(2, 0, 1))
    assert [rows.tolist() for rows in pack.class_rows] == [
        [0, 3, 6, 9, 12],
        [1, 4, 7, 10, 13],
        [2, 5, 8, 11, 14],
    ]
    assert pack.digest == hashlib.sha256(pack.path.read_bytes()).hexdigest()


def test_classes_are_numbered_by_first_appearance(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "D", classes=3, images=2)
    write_labels(folder, sorted(labels_of(folder), reverse=True))
    assert pack_dataset(folder, tmp_path).classes == ("class 2", "class 1", "class 0")


def test_same_folder_same_bytes(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "D", classes=3, images=90)  # three blocks, in any order of completion
    first = pack_dataset(folder, tmp_path / "one")
    second = pack_dataset(folder, tmp_path / "two")
    assert first.digest == second.digest
    assert first.content_digest == second.content_digest


def test_annotations_and_licence_travel_in_the_pack(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "D", classes=2, images=3)
    rows = [[*row, f"w{i % 2}", str(i % 2)] for i, row in enumerate(labels_of(folder))]
    write_labels(folder, rows, header=("FILE_NAME", "CATEGORY", "SUPER_CATEGORY", "WRITER", "striped"))
    info = json.loads((folder / "info.json").read_text())
    extra = {"annotation_columns": ["WRITER", "striped"], "license": "CC0", "source": "made here"}
    (folder / "info.json").write_text(json.dumps(info | extra))
    pack = pack_dataset(folder, tmp_path)
    assert pack.annotations["WRITER"].tolist() == [0, 1] * 3
    assert pack.is_binary("striped")
    assert not pack.is_binary("WRITER")
    assert (pack.meta.licence, pack.meta.source) == ("CC0", "made here")


@pytest.mark.parametrize("place", ["header", "images", "last image", "labels", "metadata"])
def test_one_altered_byte_is_found(tmp_path: Path, place: str) -> None:
    pack = pack_dataset(write_dataset(tmp_path / "D", classes=2, images=3), tmp_path)
    size = pack.path.stat().st_size
    labels = PAGE + 6 * 3 * 128 * 128
    at = {"header": 40, "images": PAGE + 5, "last image": labels - 1, "labels": labels, "metadata": size - 9}[
        place
    ]
    content = bytearray(pack.path.read_bytes())
    content[at] ^= 4
    altered = tmp_path / "altered.anyshot-pack"
    altered.write_bytes(content)
    with pytest.raises(BadPack, match=r"altered\.anyshot-pack: the pack (was altered|is truncated)"):
        Pack.open(altered)


@pytest.mark.parametrize("keep", [0, 50, 5000, -1])
def test_a_truncated_pack_is_refused_by_name(tmp_path: Path, keep: int) -> None:
    pack = pack_dataset(write_dataset(tmp_path / "D", classes=2, images=3), tmp_path)
    short = tmp_path / "short.anyshot-pack"
    short.write_bytes(pack.path.read_bytes()[:keep])
    for verify in (True, False):
        with pytest.raises(BadPack, match=r"short\.anyshot-pack.*truncated"):
            Pack.open(short, verify=verify)


def test_what_is_no_pack_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.anyshot-pack"
    path.write_bytes(b"PK" * 100)
    with pytest.raises(BadPack, match="not an Anyshot pack"):
        Pack.open(path)
    with pytest.raises(BadPack, match=r"missing\.anyshot-pack"):
        Pack.open(tmp_path / "missing.anyshot-pack")
    with pytest.raises(DataError, match="at least one pack"):
        Pool([])


def test_a_pack_of_a_later_version_is_refused(tmp_path: Path) -> None:
    pack = pack_dataset(write_dataset(tmp_path / "D", classes=2, images=3), tmp_path)
    content = bytearray(pack.path.read_bytes())
    content[16] = 2
    pack.path.write_bytes(content)
    with pytest.raises(BadPack, match="version 2; this kit reads 1"):
        Pack.open(pack.path)


def test_a_pack_opens_under_any_name_and_read_only(tmp_path: Path) -> None:
    pack = pack_dataset(write_dataset(tmp_path / "D", classes=2, images=3), tmp_path)
    bare = tmp_path / "0"
    shutil.copy(pack.path, bare)
    bare.chmod(stat.S_IRUSR)
    assert np.array_equal(Pack.open(bare, verify=False).images, pack.images)


def test_a_pack_that_is_up_to_date_is_left_alone_and_a_stale_one_made_anew(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "D", classes=2, images=3)
    path = pack_dataset(folder, tmp_path).path
    before = path.stat().st_mtime_ns
    pack_dataset(folder, tmp_path)
    assert path.stat().st_mtime_ns == before
    Image.new("RGB", (128, 128), (1, 2, 3)).save(folder / "images" / "c0_0.png")
    assert pack_dataset(folder, tmp_path).images[0, :, 0, 0].tolist() == [1, 2, 3]


def test_packing_goes_on_where_it_stopped(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "D", classes=2, images=BLOCK_IMAGES)  # two blocks
    whole = pack_dataset(folder, tmp_path / "whole")
    seen: list[int] = []

    def stop_after_one_block(done: int, total: int) -> None:
        seen.append(done)
        if done >= BLOCK_IMAGES:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        packing.pack_folder(folder, tmp_path / "packs", on_progress=stop_after_one_block)
    assert not list((tmp_path / "packs").glob(f"*{SUFFIX}"))  # nothing that could be taken for a pack
    assert sorted(p.name for p in (tmp_path / "packs").iterdir()) == [
        f".D{SUFFIX}.journal",
        f".D{SUFFIX}.partial",
    ]
    seen.clear()
    path = packing.pack_folder(folder, tmp_path / "packs", on_progress=lambda done, total: seen.append(done))
    assert seen[0] >= BLOCK_IMAGES  # the first block was not done again
    assert Pack.open(path).digest == whole.digest
    assert [p.name for p in (tmp_path / "packs").iterdir()] == [path.name]


@pytest.mark.seconds("many draws and images")
def test_a_killed_packing_leaves_no_pack_and_can_be_continued(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "D", classes=4, images=BLOCK_IMAGES)
    code = (
        "import sys, pathlib\n"
        "from anyshot_core.data.packing import pack_folder\n"
        "show = lambda done, total: print(done, flush=True)\n"
        "pack_folder(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), on_progress=show)"
    )
    command = [sys.executable, "-c", code, str(folder), str(tmp_path / "packs")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while int(process.stdout.readline() or 1 << 30) < BLOCK_IMAGES:
            continue
        process.send_signal(signal.SIGKILL)
    assert not list((tmp_path / "packs").glob(f"*{SUFFIX}"))
    path = packing.pack_folder(folder, tmp_path / "packs")
    assert len(Pack.open(path)) == 4 * BLOCK_IMAGES


def test_a_dataset_that_another_is_packing_is_waited_for(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "D", classes=2, images=BLOCK_IMAGES)
    started, go_on, seen = Event(), Event(), []

    def hold(done: int, total: int) -> None:
        started.set()
        go_on.wait(30)

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(packing.pack_folder, folder, tmp_path / "packs", on_progress=hold)
        started.wait(30)
        second = threads.submit(
            packing.pack_folder, folder, tmp_path / "packs", on_progress=lambda *now: seen.append(now)
        )
        wait([second], timeout=0.5)
        assert not second.done()
        go_on.set()
        assert first.result() == second.result()
    assert seen == [(2 * BLOCK_IMAGES, 2 * BLOCK_IMAGES)]  # it did nothing itself
    assert len(Pack.open(second.result())) == 2 * BLOCK_IMAGES
    assert [p.name for p in (tmp_path / "packs").iterdir()] == [second.result().name]


def test_a_journal_of_another_source_or_cut_off_is_not_believed(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    journal.write_text('{"source": "a"}\n{"block": 0, "digest": "00", "bad": []}\n{"block": 1, "dig')
    assert list(Journal(journal, "a").done()) == [0]
    assert Journal(journal, "b").done() == {}


def test_images_of_other_sizes_are_resized_without_aliasing(tmp_path: Path) -> None:
    # A checkerboard of single pixels is beyond the resolution of the small image: without anti-aliasing it would come
    # out as stripes or as one of its colours.
    board = (np.indices((512, 512)).sum(axis=0) % 2 * 255).astype(np.uint8)
    Image.fromarray(np.repeat(board[:, :, None], 3, axis=2)).save(tmp_path / "board.png")
    assert np.abs(decode_image(tmp_path / "board.png").astype(int) - 127.5).max() < 3


def test_an_oblong_image_keeps_its_central_square(tmp_path: Path) -> None:
    pixels = np.zeros((128, 256, 3), dtype=np.uint8)
    pixels[:, 64:192] = np.random.RandomState(0).randint(0, 256, (128, 128, 3))
    Image.fromarray(pixels).save(tmp_path / "wide.png")
    assert np.array_equal(decode_image(tmp_path / "wide.png"), pixels[:, 64:192].transpose(2, 0, 1))


def test_a_small_image_is_enlarged_and_a_turned_one_set_upright(tmp_path: Path) -> None:
    pixels = np.zeros((60, 60, 3), dtype=np.uint8)
    pixels[:30] = 255
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned: rows of the file are columns of the scene
    Image.fromarray(pixels).save(tmp_path / "turned.jpg", exif=exif, quality=95)
    upright = decode_image(tmp_path / "turned.jpg")
    assert upright.shape == (3, 128, 128)
    assert upright[0, 64, 20] < 20
    assert upright[0, 64, 108] > 235


def test_domains_of_meta_album_are_known() -> None:
    assert guess_domain("BRD_Mini") == "large animals"
    assert guess_domain("PLT_DOC") == "plant diseases"
    assert guess_domain("OCR_DEV") == "OCR"
    assert guess_domain("SOMETHING") == ""


def test_reading_rows_from_the_file_equals_the_map(tmp_path: Path) -> None:
    pack = pack_dataset(write_dataset(tmp_path / "D", classes=3, images=4), tmp_path)
    out = np.zeros((20, 3, 128, 128), dtype=np.uint8)
    for rows in ([3], [5, 4, 3, 9, 10, 0], [7, 7, 7], list(range(12)), []):
        wanted = np.array(rows, dtype=np.int64)
        assert np.array_equal(pack.read_rows(wanted, out), pack.images[wanted])


def test_a_pack_that_is_cut_short_while_in_use_is_an_error(tmp_path: Path) -> None:
    pack = pack_dataset(write_dataset(tmp_path / "D", classes=3, images=4), tmp_path)
    os.truncate(pack.path, PAGE + 2 * 3 * 128 * 128)
    with pytest.raises(BadPack, match="truncated while it was read"):
        pack.read_rows(np.array([1, 6]), np.zeros((2, 3, 128, 128), dtype=np.uint8))


def test_reading_packs_needs_no_torch(tmp_path: Path) -> None:
    pack = pack_dataset(write_dataset(tmp_path / "D", classes=2, images=3), tmp_path)
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from anyshot_core.data.pool import Pool; import anyshot_starting_kit.episodes as e\n"
        "from anyshot_core.protocols import AnyWayAnyShot\n"
        "pool = Pool.open([sys.argv[1]]); task = next(e.stream(pool, AnyWayAnyShot(query=1), 1, 1))\n"
        "print(len(task.images))"
    )
    done = subprocess.run([sys.executable, "-c", code, pack.path], capture_output=True, text=True, check=True)
    assert int(done.stdout) >= 4


def test_commands_pack_a_folder_of_datasets_and_tell_about_packs(tmp_path: Path) -> None:
    for name in ("A", "B"):
        write_dataset(tmp_path / "sets" / name, classes=3, images=6)
    runner = CliRunner()
    packed = runner.invoke(
        data, ["pack", str(tmp_path / "sets"), "--out", str(tmp_path / "packs"), "--domain", "OCR"]
    )
    assert packed.exit_code == 0, packed.output
    assert "A.anyshot-pack: 18 images, 3 classes" in packed.output
    path = str(tmp_path / "packs" / f"A{SUFFIX}")
    facts = json.loads(runner.invoke(data, ["info", "--json", path]).stdout)
    assert (facts["images"], facts["classes"], facts["domain"]) == (18, 3, "OCR")
    assert "images a class  6 to 6" in runner.invoke(data, ["info", str(tmp_path / "sets" / "B")]).stdout
    assert runner.invoke(data, ["check", str(tmp_path / "packs")]).exit_code == 0


def test_show_draws_a_contact_sheet_and_a_task(tmp_path: Path) -> None:
    pack = pack_dataset(write_dataset(tmp_path / "A", classes=3, images=6), tmp_path)
    sheet, task = tmp_path / "sheet.png", tmp_path / "task.png"
    assert CliRunner().invoke(data, ["show", str(pack.path), "--out", str(sheet)]).exit_code == 0
    settings = json.dumps({"name": "fixed", "ways": 2, "shots": 2, "query": 3})
    arguments = ["show", str(pack.path), "--out", str(task), "--task", "5", "--protocol", settings]
    assert CliRunner().invoke(data, arguments).exit_code == 0
    with Image.open(sheet) as image:
        first = np.asarray(image)[28:156, 180:308]  # below the title, right of the class names
        assert np.array_equal(first.transpose(2, 0, 1), pack.images[0])
    with Image.open(task) as image:
        assert image.size == (180 + 6 * 132, 28 + 2 * 132)


def test_a_pool_names_and_orders_its_packs(tmp_path: Path) -> None:
    paths = [pack_dataset(write_dataset(tmp_path / name), tmp_path).path for name in ("A", "B")]
    pool = Pool.open(paths)
    assert pool.names == ("A", "B")
    assert pool.subset([1]).names == ("B",)
    assert pool.digest != Pool.open(paths[::-1]).digest
    assert [pack.name for pack in pool] == ["A", "B"]
    assert Pool.open(paths, verify=False).digest == pool.digest


def test_a_series_is_packed_in_order_and_a_refused_dataset_stops_no_other(tmp_path: Path) -> None:
    folders = [write_dataset(tmp_path / name, classes=2, images=3) for name in ("A", "B", "C")]
    broken = next((folders[1] / "images").iterdir())
    broken.write_text("no image")
    seen: set[tuple[str, int, int]] = set()
    with BlockWorkers(1) as workers:
        packed = dict(
            pack_series(
                folders,
                tmp_path / "packs",
                workers,
                on_progress=lambda folder, done, total: seen.add((folder.name, done, total)),
            )
        )
    assert list(packed) == folders
    assert [Pack.open(packed[folder].result()).name for folder in (folders[0], folders[2])] == ["A", "C"]
    with pytest.raises(BadDataset, match=broken.name):
        packed[folders[1]].result()
    assert {(name, 6, 6) for name in "ABC"} <= seen


def test_a_header_that_was_altered_is_named_for_what_is_wrong_with_it(tmp_path: Path) -> None:
    whole = pack_dataset(write_dataset(tmp_path / "B", classes=2, images=2), tmp_path).path.read_bytes()
    altered = tmp_path / f"altered{SUFFIX}"
    for at, value, words in (
        (16, (9).to_bytes(4, "little"), "a pack of version 9; this kit reads"),
        (40, (1 << 40).to_bytes(8, "little"), "the pack's metadata would have"),
        (24, (3).to_bytes(8, "little"), "the pack"),  # another number of images
    ):
        altered.write_bytes(whole[:at] + value + whole[at + len(value) :])
        with pytest.raises(BadPack) as caught:
            Pack.open(altered)
        assert words in str(caught.value)


def test_a_pack_that_is_cut_short_under_a_reader_is_said_to_be(tmp_path: Path) -> None:
    pack = pack_dataset(write_dataset(tmp_path / "B", classes=2, images=3), tmp_path)
    out = np.zeros(IMAGE_BYTES, np.uint8)
    pack.read_row(5, out.data)
    assert np.array_equal(out, pack.images[5].reshape(-1))
    os.truncate(pack.path, PAGE + 5 * IMAGE_BYTES + 100)
    with pytest.raises(BadPack, match="truncated while it was read"):
        pack.read_row(5, out.data)
