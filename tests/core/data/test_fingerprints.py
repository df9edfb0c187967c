"""Equal images have equal digests, images that look alike have close hashes, others do not."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from anyshot_core.data import fingerprints
from anyshot_core.data.digests import digest_of
from anyshot_core.data.fingerprints import (
    Fingerprints,
    difference_hash,
    find_overlap,
    find_repeats,
    fingerprint,
)
from anyshot_core.data.pack import Pack
from tests.core.tinydata import write_pack

Change = Callable[[Image.Image], Image.Image]


def pictures(count: int, seed: int) -> np.ndarray:
    """Images uint8 `[n, 3, 128, 128]` with shapes in them."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        image = Image.new("RGB", (128, 128), tuple(random.integers(0, 256, 3).tolist()))
        draw = ImageDraw.Draw(image)
        for _ in range(9):
            x, y = random.integers(-20, 110, 2).tolist()
            width, height = random.integers(20, 90, 2).tolist()
            draw.ellipse((x, y, x + width, y + height), fill=tuple(random.integers(0, 256, 3).tolist()))
        made.append(np.asarray(image).transpose(2, 0, 1))
    return np.stack(made)


def prints(images: np.ndarray) -> Fingerprints:
    exact = [digest_of(image.tobytes())[:16] for image in images]
    return of(np.frombuffer(b"".join(exact), np.uint8).reshape(-1, 16), difference_hash(images))


def of(exact: np.ndarray, alike: np.ndarray) -> Fingerprints:
    return Fingerprints(exact, alike, np.zeros(len(exact), np.int64), ("shape",))


def compressed(image: Image.Image) -> Image.Image:
    file = io.BytesIO()
    image.save(file, "JPEG", quality=60)
    return Image.open(file).convert("RGB")


def scaled(image: Image.Image) -> Image.Image:
    return image.resize((90, 90)).resize((128, 128))


def brighter(image: Image.Image) -> Image.Image:
    return image.point([min(255, round(value * 1.1)) for value in range(256)] * 3)


@pytest.mark.parametrize("change", [compressed, scaled, brighter])
def test_a_changed_copy_looks_alike_and_is_found_at_its_place(change: Change) -> None:
    images = pictures(60, 1)
    copies = [
        np.asarray(change(Image.fromarray(image.transpose(1, 2, 0)))).transpose(2, 0, 1)
        for image in images[10:30]
    ]
    found = find_overlap(prints(images), prints(np.concatenate([pictures(40, 2), np.stack(copies)])))
    assert len(found.equal) == 0
    assert len(found.near) >= 19
    assert all(row - 10 == other - 40 for row, other in found.near.tolist())


def test_other_images_do_not_look_alike() -> None:
    found = find_overlap(prints(pictures(300, 3)), prints(pictures(300, 4)))
    assert (len(found.equal), len(found.near)) == (0, 0)


def test_equal_images_are_equal_and_not_also_alike() -> None:
    images = pictures(20, 5)
    found = find_overlap(prints(images[5:9]), prints(images))
    assert found.equal.tolist() == [[0, 5], [1, 6], [2, 7], [3, 8]]
    assert len(found.near) == 0


def test_plain_images_look_like_nothing() -> None:
    grey = np.stack([np.full((3, 128, 128), value, np.uint8) for value in (10, 90, 200)])
    assert len(find_overlap(prints(grey), prints(grey + 1)).near) == 0


@pytest.mark.parametrize("at_a_time", [1, 7, 1 << 20])
def test_the_search_finds_what_comparing_all_pairs_finds(
    monkeypatch: pytest.MonkeyPatch, at_a_time: int
) -> None:
    monkeypatch.setattr(fingerprints, "_PAIRS", at_a_time)
    random = np.random.default_rng(6)
    first = random.integers(0, 2, (30, 128))
    flipped = np.arange(128) < np.repeat(np.arange(10), 3)[:, None]  # 0 to 9 bits, all in the first two parts
    spread = random.permuted(flipped, axis=1)
    for second in (first ^ flipped, first ^ spread):
        one, other = (np.packbits(bits.astype(np.uint8), axis=1) for bits in (first, second))
        exact = [random.integers(0, 256, (30, 16), dtype=np.uint8) for _ in range(2)]
        found = find_overlap(of(exact[0], one), of(exact[1], other)).near
        wanted = [[row, row] for row in range(30) if (first[row] != second[row]).sum() <= 6]
        assert found.tolist() == wanted


def test_the_fingerprints_of_a_pack_read_back_and_name_its_images(tmp_path: Path) -> None:
    pack = Pack.open(write_pack(tmp_path, "A"))
    made = fingerprint(pack)
    read = Fingerprints.from_bytes(made.to_bytes())
    for name in ("exact", "alike", "labels"):
        assert (getattr(read, name) == getattr(made, name)).all()
    assert made.name(59) == read.name(59) == "image 59 (class 4)"
    found = find_overlap(made, fingerprint(Pack.open(write_pack(tmp_path / "b", "B"))))
    assert len(found.equal) == len(pack)  # the same pixels in another pack


def test_what_a_dataset_holds_twice_is_found_once_and_never_as_itself() -> None:
    images = pictures(6, 3)
    paler = np.clip(images[1].astype(int) + 12, 0, 255).astype(np.uint8)
    found = find_repeats(prints(np.stack([*images, images[2], paler])))
    assert found.equal.tolist() == [[6, 2]]
    assert found.near.tolist() == [[7, 1]]
    assert not len(find_repeats(prints(images)).equal) + len(find_repeats(prints(images)).near)
