"""Archives that must be refused, with little work, and those that must not."""

import io
import resource
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType

import pytest

from anyshot_core.bundle import check_bundle
from anyshot_core.bundle.members import pieces
from anyshot_core.bundle.zipsafety import ZipLimits, ZipRefused, folder_of, read_listing
from anyshot_starting_kit.runner.unpack import unpack_bundle
from tests.core.bundle.archives import MODEL, Member, build, good, overlapping, usual

BOMB = Member(b"bomb", bytes(40 << 20))
NESTED_NAMES = b"/".join([b"d"] * 40)

REFUSED = {
    "path": good(Member(b"../evil.py")),
    "path inside": good(Member(b"a/../../evil.py")),
    "backslashes": good(Member(b"..\\evil.py")),
    "absolute": good(Member(b"/etc/passwd")),
    "drive": good(Member(b"C:/evil.py")),
    "link": good(Member(b"weights", b"/etc/passwd", mode=0o120777)),
    "fifo": good(Member(b"pipe", mode=0o010644)),
    "device": good(Member(b"disk", mode=0o060644)),
    "setuid": good(Member(b"tool", mode=0o104755)),
    "setgid": good(Member(b"tool", mode=0o102755)),
    "duplicate": good(Member(b"a.py"), Member(b"a.py")),
    "duplicate by dots": good(Member(b"a.py"), Member(b"./a.py")),
    "case clash": good(Member(b"Utils.py"), Member(b"utils.py")),
    "case clash of folders": good(Member(b"Net/a.py"), Member(b"net/b.py")),
    "clash of accents": good(
        Member("caf\u00e9.py".encode(), flags=0x800), Member("cafe\u0301.py".encode(), flags=0x800)
    ),
    "file and folder": good(Member(b"a"), Member(b"a/b.py")),
    "nul": good(Member(b"model.py\0.txt")),
    "newline": good(Member(b"a\nb.py")),
    "bad utf-8": good(Member(b"\xff\xfe.py", flags=0x800)),
    "long name": good(Member(b"a" * 300)),
    "deep": good(Member(NESTED_NAMES)),
    "encrypted": good(Member(b"a", flags=1)),
    "lzma": good(Member(b"a", method=14)),
    "bomb": good(BOMB),
    "overlap": overlapping(20),
    "lying stored": good(Member(b"a", b"x" * 10, method=0, stated=10 << 30 & 0xFFFFFFF)),
    "lying small": good(Member(b"a", bytes(5 << 20), stated=10)),
    "lying large": good(Member(b"a", b"x", stated=1 << 30)),
    "two sizes": good(Member(b"a", b"x" * 10, local_size=9)),
    "two names": good(Member(b"model2.py", MODEL, local_name=b"modelX.py")),
    "past the end": good(Member(b"a", b"x", method=0, packed=10_000, stated=10_000)),
    "header elsewhere": good(Member(b"a", at=5)),
    "count too low": build([Member(b"model.py", MODEL), Member(b"a")], count=1),
    "count too high": build([Member(b"model.py", MODEL)], count=2),
    "too many": build(Member(b"f%d" % n, method=0) for n in range(10_001)),
    "announces too many": build([Member(b"model.py", MODEL)], count=60_000),
    "text": b"hello, I am a text file\n" * 20,
    "empty": b"",
    "cut off": good()[:-10],
    "png": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "comment beyond the end": good()[:-2] + b"\xff\xff",
}


@pytest.mark.parametrize("content", REFUSED.values(), ids=REFUSED.keys())
def test_refused_with_what_to_do(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(content)
    with pytest.raises(ZipRefused) as caught:
        read_listing(path)
    assert caught.value.problem.endswith(".") and caught.value.remedy.strip()
    report = check_bundle(path)
    assert not report.ok and report.failures[0].remedy


def test_what_is_said_names_the_fault(tmp_path: Path) -> None:
    wanted = {
        "path": "path",
        "link": "link",
        "setuid": "setuid",
        "duplicate": "duplicate",
        "case clash": "case_clash",
        "bomb": "bomb",
        "overlap": "overlap",
        "lying large": "lying_size",
        "lying small": "lying_size",
        "too many": "too_many",
        "text": "not_a_zip",
        "nul": "bad_name",
        "encrypted": "encrypted",
        "cut off": "not_a_zip",
    }
    for name, code in wanted.items():
        (tmp_path / "bundle.zip").write_bytes(REFUSED[name])
        with pytest.raises(ZipRefused) as caught:
            read_listing(tmp_path / "bundle.zip")
        assert caught.value.code == code, name


def many_entries() -> bytes:
    return build(Member(b"f%d" % n, method=0) for n in range(100_000 & 0xFFFF | 0x8000))


def calls_of(work: Callable[[], object]) -> list[str]:
    """Every call that some work makes, of Python's functions and of those in C, as `module.name`."""
    made: list[str] = []

    def note(frame: FrameType, event: str, called: object) -> None:
        if event == "call":
            made.append(f"{frame.f_globals.get('__name__')}.{frame.f_code.co_name}")
        elif event == "c_call":
            made.append(f"{getattr(called, '__module__', None)}.{getattr(called, '__qualname__', called)}")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return made


# The most calls: some 42 for an entry that is read. Of the overlapping ones, 410 announce the 4 GiB that end it all.
MOST_CALLS = {"bomb": 1_000, "overlap": 20_000, "lying large": 1_000, "entries": 100}


@pytest.mark.parametrize("name", MOST_CALLS)
def test_refused_with_little_work_and_flat_memory(tmp_path: Path, name: str) -> None:
    """No entry is decompressed, and none is read after the first that settles the matter."""
    path = tmp_path / "bundle.zip"
    path.write_bytes(
        many_entries() if name == "entries" else overlapping(2_000) if name == "overlap" else REFUSED[name]
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def refuse() -> None:
        with pytest.raises(ZipRefused):
            read_listing(path)

    made = calls_of(refuse)
    assert 0 < len(made) < MOST_CALLS[name]
    assert not [call for call in made if call.startswith(("zlib.", "zipfile."))]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 << 10  # KiB


def test_ten_gigabytes_are_refused(tmp_path: Path) -> None:
    """Stated sizes alone: 64-bit fields as zip programs write them for large files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.py", MODEL)
        for number in range(20):
            archive.writestr(f"part{number}", bytes(10 << 20))
    path = tmp_path / "bundle.zip"
    path.write_bytes(buffer.getvalue())
    with pytest.raises(ZipRefused, match="more than the 100"):
        read_listing(path, ZipLimits(unpacked_bytes=100 << 20, ratio=2_000))


GOOD = {
    "flat": (usual({"model.py": MODEL}), {"model.py"}),
    "in a folder": (usual({"mine/model.py": MODEL, "mine/net/x.py": b""}), {"model.py", "net/x.py"}),
    "with clutter": (
        usual({"m/model.py": MODEL, "__MACOSX/m/._model.py": b"x", ".DS_Store": b"x"}),
        {"model.py"},
    ),
    "backslashes": (usual({"m\\model.py": MODEL, "m\\net\\a.py": b""}), {"model.py", "net/a.py"}),
    "windows line ends": (usual({"model.py": MODEL.replace(b"\n", b"\r\n")}), {"model.py"}),
    "stored": (
        usual({"model.py": MODEL, "w.bin": bytes(1 << 20)}, zipfile.ZIP_STORED),
        {"model.py", "w.bin"},
    ),
    "folders listed": (
        good(Member(b"net/", mode=0o040755), Member(b"net/a.py", b"1")),
        {"model.py", "net/a.py"},
    ),
    "umlaut": (usual({"model.py": MODEL, "größe.txt": b""}), {"model.py", "größe.txt"}),
    "nested zip": (
        usual({"model.py": MODEL, "lib.zip": usual({"lib/a.py": b"1", "b.py": b"2"})}),
        {"model.py", "lib.zip", "lib/lib/a.py", "lib/b.py"},
    ),
    "zip that is none": (usual({"model.py": MODEL, "data.zip": b"not a zip"}), {"model.py", "data.zip"}),
    "nested zip deeper": (usual({"model.py": MODEL, "d/x.zip": usual({"a": b""})}), {"model.py", "d/x.zip"}),
}


@pytest.mark.parametrize(("content", "files"), GOOD.values(), ids=GOOD.keys())
def test_good_archives_unpack_as_in_2022(tmp_path: Path, content: bytes, files: set[str]) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(content)
    assert check_bundle(path).ok
    unpack_bundle(path, tmp_path / "program", 1 << 30)
    found = {
        item.relative_to(tmp_path / "program").as_posix()
        for item in (tmp_path / "program").rglob("*")
        if item.is_file()
    }
    assert found == files


def test_streamed_zip_with_data_descriptors(tmp_path: Path) -> None:
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.data = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            piece = bytes(data)  # type: ignore[call-overload]
            self.data += piece
            return len(piece)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[arg-type]
        archive.writestr("model.py", MODEL)
        archive.writestr("other.py", b"x = 1\n" * 100)
    (tmp_path / "bundle.zip").write_bytes(bytes(pipe.data))
    assert check_bundle(tmp_path / "bundle.zip").ok


def test_unpacking_counts_every_byte(tmp_path: Path) -> None:
    """A directory that lies within what deflate could do is caught by the counter."""
    liar = Member(b"a", bytes(1 << 20), stated=1 << 18)
    (tmp_path / "bundle.zip").write_bytes(good(replace(liar, content=bytes(1 << 20))))
    with pytest.raises(ZipRefused, match="not what the zip's directory says"):
        unpack_bundle(tmp_path / "bundle.zip", tmp_path / "program", 1 << 30)
    assert (tmp_path / "program" / "a").stat().st_size <= 1 << 18


def test_a_wrong_checksum_is_noticed(tmp_path: Path) -> None:
    content = bytearray(usual({"model.py": MODEL, "w": b"abcdefgh"}, zipfile.ZIP_STORED))
    content[content.index(b"abcdefgh")] ^= 1
    (tmp_path / "bundle.zip").write_bytes(bytes(content))
    listing = read_listing(tmp_path / "bundle.zip")
    with pytest.raises(ZipRefused):
        list(pieces(tmp_path / "bundle.zip", listing.files[1]))


def test_a_nested_bomb_is_stopped_inside(tmp_path: Path) -> None:
    inner = build([BOMB])
    (tmp_path / "bundle.zip").write_bytes(usual({"model.py": MODEL, "inner.zip": inner}))
    with pytest.raises(ZipRefused, match=r"In inner\.zip"):
        unpack_bundle(tmp_path / "bundle.zip", tmp_path / "program", 1 << 30)


def test_the_only_folder(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(usual({"m/model.py": MODEL, "other/x": b""}))
    assert folder_of(read_listing(tmp_path / "a.zip")) == ""
