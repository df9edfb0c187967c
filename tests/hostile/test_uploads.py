"""Numbers 40 and 41 of the list: zips that attack whoever unpacks them are refused at upload, at once."""

import io
import resource
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from anyshot_core.bundle import check_bundle, members

MODEL = "class MyMetaLearner:\n    pass\n\n\nclass MyLearner:\n    pass\n"


def zip_of(*entries: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.py", MODEL)
        for name, content in entries:
            archive.writestr(name, content)
    return buffer.getvalue()


def with_mode(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, mode << 16
    return info


def with_name(raw: bytes) -> bytes:
    """A zip in which an entry's name was replaced by one that Python would not write."""
    placeholder = b"?" * len(raw)
    return zip_of((placeholder.decode(), b"x")).replace(placeholder, raw)


def duplicate() -> bytes:
    return zip_of(("same.py", b"1"), ("sam_.py", b"2")).replace(b"sam_.py", b"same.py")


def bomb() -> bytes:
    return zip_of(("zeros.bin", b"\0" * (64 << 20)))


def overlapping() -> bytes:
    """Two directory entries that share one local entry."""
    data = bytearray(zip_of(("a.bin", b"\0" * 100_000), ("b.bin", b"\0" * 100_000)))
    first = data.find(b"PK\x01\x02")
    second = data.find(b"PK\x01\x02", first + 4)
    third = data.find(b"PK\x01\x02", second + 4)
    data[third + 42 : third + 46] = data[second + 42 : second + 46]
    return bytes(data)


def lying_size() -> bytes:
    """The directory says ten bytes, the data holds a hundred thousand."""
    data = bytearray(zip_of(("a.bin", b"\0" * 100_000)))
    entry = data.rfind(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = struct.pack("<I", 10)
    return bytes(data)


def many_entries() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(100_000):
            archive.writestr(f"f{number}", b"")
    return buffer.getvalue()


REFUSED: dict[str, Callable[[], bytes]] = {
    "40 path traversal": lambda: zip_of(("../../etc/cron.d/x", b"x")),
    "40 traversal in the middle": lambda: zip_of(("a/../../x", b"x")),
    "40 absolute path": lambda: zip_of(("/etc/passwd", b"x")),
    "40 drive letter": lambda: zip_of(("C:/x", b"x")),
    "40 backslashes": lambda: with_name(b"..\\..\\x"),
    "40 symbolic link": lambda: zip_of((with_mode("link", stat.S_IFLNK | 0o777), b"/etc/passwd")),
    "40 device": lambda: zip_of((with_mode("disk", stat.S_IFBLK | 0o666), b"")),
    "40 FIFO": lambda: zip_of((with_mode("pipe", stat.S_IFIFO | 0o666), b"")),
    "40 set-user-id": lambda: zip_of((with_mode("su", stat.S_IFREG | 0o4755), b"x")),
    "40 duplicate names": duplicate,
    "40 NUL in a name": lambda: with_name(b"a.py\x00.txt"),
    "40 names that differ in case": lambda: zip_of(("Model.py", b"x")),
    "40 a file that is a folder too": lambda: zip_of(("data", b"x"), ("data/more", b"x")),
    "41 a thousand to one": bomb,
    "41 overlapping entries": overlapping,
    "41 lying sizes": lying_size,
    "41 a hundred thousand entries": many_entries,
    "41 no zip at all": lambda: b"PK\x03\x04" + b"x" * 1000,
    "41 truncated": lambda: zip_of(("a.bin", b"x" * 1000))[:-40],
}


@pytest.mark.parametrize("attack", REFUSED)
def test_upload_is_refused_at_once(
    attack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "submission.zip"
    path.write_bytes(REFUSED[attack]())
    check_bundle(path)  # imports are not part of the check's memory
    inflated: list[int] = []
    inflate = members._inflate
    monkeypatch.setattr(
        members, "_inflate", lambda *given: (inflated.append(len(out)) or out for out in inflate(*given))
    )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = check_bundle(path)
    assert not report.ok
    assert report.failures[0].remedy
    assert sum(inflated) <= 1 << 20, "next to nothing is unpacked"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 16 << 10


def test_an_honest_zip_passes(tmp_path: Path) -> None:
    path = tmp_path / "submission.zip"
    path.write_bytes(zip_of(("weights.bin", bytes(range(256)) * 100), ("folder/module.py", b"x = 1\n")))
    assert check_bundle(path).ok, check_bundle(path).failures
