"""A zip whose structures contradict each other is refused by what is wrong; one in 64-bit form is read as any other."""

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from anyshot_core.bundle.zipsafety import ZipLimits, ZipRefused, read_listing

MODEL, END = b"class MetaLearner: ...\n", b"PK\x05\x06"


def plain(files: int = 1) -> bytearray:
    """A zip as `zipfile` writes it."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for number in range(files):
            archive.writestr(f"model{number}.py", MODEL)
    return bytearray(target.getvalue())


def put(content: bytearray, at: int, form: str, value: int) -> bytearray:
    struct.pack_into(form, content, at, value)
    return content


def at_end(content: bytearray) -> int:
    return content.rfind(END)


def at_directory(content: bytearray) -> int:
    return content.find(b"PK\x01\x02")


def in_64_bit(content: bytearray) -> bytearray:
    """With a 64-bit directory record and its locator; the 32-bit record says that they count."""
    end, start = at_end(content), at_directory(content)
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, end - start, start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    last = put(put(content[end:], 8, "<H", 0xFFFF), 10, "<H", 0xFFFF)
    return content[:end] + record + locator + put(put(last, 12, "<L", 0xFFFFFFFF), 16, "<L", 0xFFFFFFFF)


def with_wide_sizes(content: bytearray, extra: bytes) -> bytearray:
    """The directory's sizes stand in an extra field: the 32-bit ones are placeholders."""
    entry, end = at_directory(content), at_end(content)
    name = struct.unpack_from("<H", content, entry + 28)[0]
    put(put(content, entry + 20, "<L", 0xFFFFFFFF), entry + 24, "<L", 0xFFFFFFFF)
    put(content, entry + 30, "<H", len(extra))
    content[entry + 46 + name : entry + 46 + name] = extra
    return put(content, at_end(content) + 12, "<L", end + len(extra) - entry)


def lost_record() -> bytearray:
    """The locator points at no 64-bit record."""
    content = plain()
    end = at_end(content)
    return content[:end] + struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1) + content[end:]


SIZES = struct.pack("<2H2Q", 1, 16, len(MODEL), len(MODEL))
OTHER = struct.pack("<2HL", 0x5455, 4, 0)  # a moment, before the sizes
DAMAGED: dict[str, Callable[[], bytearray]] = {
    "one part of a split archive": lambda: put(z := plain(), at_end(z) + 4, "<H", 1),
    "its directory is not where it should be": lambda: put(z := plain(), at_end(z) + 16, "<L", 3),
    "its list of files is broken": lambda: put(z := plain(2), at_directory(z), "<L", 0),
    "its list of files is cut off": lambda: put(z := plain(), at_directory(z) + 28, "<H", 60_000),
    "its 64-bit directory record is not where it should be": lost_record,
    "a 64-bit size is missing": lambda: with_wide_sizes(plain(), OTHER),
    "its last entry runs into the directory": lambda: put(
        put(z := plain(), at_directory(z) + 8, "<H", 8), at_directory(z) + 20, "<L", len(MODEL) + 1
    ),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_what_is_damaged_is_named(tmp_path: Path, what: str) -> None:
    (path := tmp_path / "bundle.zip").write_bytes(DAMAGED[what]())
    with pytest.raises(ZipRefused) as caught:
        read_listing(path)
    assert caught.value.code == "damaged" and what in caught.value.problem


@pytest.mark.parametrize(
    "make",
    [lambda: in_64_bit(plain()), lambda: with_wide_sizes(plain(), OTHER + SIZES)],
    ids=["end", "sizes"],
)
def test_a_64_bit_zip_is_read(tmp_path: Path, make: Callable[[], bytearray]) -> None:
    (path := tmp_path / "bundle.zip").write_bytes(make())
    (file,) = read_listing(path).files
    assert (file.path, file.size, file.packed) == ("model0.py", len(MODEL), len(MODEL))


@pytest.mark.parametrize(
    ("code", "limits"),
    [
        ("too_large", ZipLimits(zip_bytes=100)),
        ("directory_too_large", ZipLimits(directory_bytes=40)),
        ("too_many", ZipLimits(entries=1)),
        ("bomb", ZipLimits(unpacked_bytes=len(MODEL))),
        ("name_too_long", ZipLimits(name_bytes=5)),
    ],
)
def test_each_limit_refuses_what_is_above_it(tmp_path: Path, code: str, limits: ZipLimits) -> None:
    (path := tmp_path / "bundle.zip").write_bytes(plain(2))
    assert len(read_listing(path).files) == 2
    with pytest.raises(ZipRefused) as caught:
        read_listing(path, limits)
    assert caught.value.code == code and caught.value.remedy


def test_entries_that_nobody_announced_are_counted(tmp_path: Path) -> None:
    content = plain(3)
    put(put(content, at_end(content) + 8, "<H", 1), at_end(content) + 10, "<H", 1)
    (path := tmp_path / "bundle.zip").write_bytes(content)
    with pytest.raises(ZipRefused) as caught:
        read_listing(path, ZipLimits(entries=2))
    assert caught.value.code == "too_many"
