"""What of an archive is refused, read here in the test's own process: a site reads it in a confined one."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anyshot_platform.confined.service import run_confined
from anyshot_platform.organizers.transfers import archive
from anyshot_platform.organizers.transfers.archive import (
    BLOBS,
    BUNDLE,
    MANIFEST,
    ROWS,
    AlteredArchive,
    ArchiveWriter,
    read_rows,
    unpack,
)

Files = dict[str, bytes]
BLOB = f"{BLOBS}{hashlib.sha256(b'blob').hexdigest()}"


def written(path: Path, files: Files) -> Path:
    """An honest archive of these files."""
    writer = ArchiveWriter(path, "https://old.example", "cup", "2026-01-01T00:00:00Z")
    for name, content in files.items():
        writer.add(name, io.BytesIO(content))
    writer.close()
    return path


@pytest.fixture
def honest(tmp_path: Path) -> Path:
    files = {BUNDLE: b"bundle", ROWS: b'{"phases": []}', BLOB: b"blob"}
    return written(tmp_path / "archive.zip", files)


LIMITS = {"most_file": 1 << 20, "most": 1 << 20}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (made := tmp_path / "unpacked").mkdir()
    return made


def test_an_honest_archive_is_unpacked(honest: Path, folder: Path) -> None:
    manifest = unpack(honest, folder, **LIMITS)
    assert manifest.competition == "cup" and set(manifest.files) == {BUNDLE, ROWS, BLOB}
    assert (folder / BLOB.replace("/", "-")).read_bytes() == b"blob" and read_rows(folder) == {"phases": []}


def changed(path: Path, change: Callable[[dict[str, Any], Files], None]) -> Path:
    """The archive with a list of files, and files, that somebody changed."""
    with zipfile.ZipFile(path) as old:
        files = {name: old.read(name) for name in old.namelist() if name != MANIFEST}
        manifest = json.loads(old.read(MANIFEST))
    change(manifest, files)
    with zipfile.ZipFile(path, "w") as new:
        for name, content in files.items():
            new.writestr(name, content)
        if manifest:
            new.writestr(MANIFEST, json.dumps(manifest))
    return path


def named(manifest: dict[str, Any], files: Files, name: str, content: bytes) -> None:
    files[name] = content
    manifest["files"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}


def elsewhere(manifest: dict[str, Any], files: Files) -> None:
    named(manifest, files, "../etc/passwd", b"x")


def by_another_digest(manifest: dict[str, Any], files: Files) -> None:
    named(manifest, files, f"{BLOBS}{'0' * 64}", b"other")


def longer(manifest: dict[str, Any], files: Files) -> None:
    files[ROWS] += b" "


def other_bytes(manifest: dict[str, Any], files: Files) -> None:
    files[BUNDLE] = b"bundlf"


def one_more(manifest: dict[str, Any], files: Files) -> None:
    files["more"] = b"x"


def without_rows(manifest: dict[str, Any], files: Files) -> None:
    del files[ROWS], manifest["files"][ROWS]


def of_the_future(manifest: dict[str, Any], files: Files) -> None:
    manifest["anyshot_transfer"] = 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda manifest, files: manifest.clear(), "it has no manifest.json"),
        (of_the_future, "manifest.json: anyshot_transfer: "),
        (one_more, "not those that its list names"),
        (without_rows, "not those that its list names"),
        (elsewhere, "'../etc/passwd', which has no place in it"),
        (by_another_digest, "is called by another digest than its own"),
        (longer, "rows.json has another size than the archive's list says"),
        (other_bytes, "bundle.zip was altered"),
    ],
)
def test_an_altered_archive_is_refused(
    honest: Path, folder: Path, change: Callable[[dict[str, Any], Files], None], words: str
) -> None:
    with pytest.raises(AlteredArchive) as told:
        unpack(changed(honest, change), folder, **LIMITS)
    assert words in str(told.value)


def test_an_archive_of_too_many_files_is_refused(
    honest: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MOST_FILES", 3)
    with pytest.raises(AlteredArchive, match=re.escape("too many files (4)")):
        unpack(honest, folder, **LIMITS)


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("most", "The archive unpacks to 24 B, and this site takes 10 B at most"),
        ("most_file", "A file of the archive has 14 B, and this site takes 10 B at most"),
    ],
)
def test_an_archive_beyond_a_limit_of_the_site_is_told_so_with_sizes(
    honest: Path, folder: Path, limit: str, words: str
) -> None:
    with pytest.raises(AlteredArchive, match=words):
        unpack(honest, folder, **{**LIMITS, limit: 10})
    assert not list(folder.iterdir())


@pytest.mark.slow("unpacks as much as one submission may hold")
def test_a_file_may_be_as_large_as_the_site_allows(tmp_path: Path, folder: Path) -> None:
    """Each above 256 MiB was refused by the confined process: a submission with weights stopped the move."""
    large = bytes(257 << 20)
    blob = f"{BLOBS}{hashlib.sha256(large).hexdigest()}"
    path = written(tmp_path / "archive.zip", {BUNDLE: b"bundle", ROWS: b"{}", blob: large})
    answer = run_confined(
        "transfer", path=str(path), folder=str(folder), file_bytes=1 << 30, most_bytes=1 << 30
    )
    assert answer.keys() == {"manifest"}, answer
    assert (folder / blob.replace("/", "-")).stat().st_size == len(large)


def test_what_is_no_zip_is_refused(tmp_path: Path, folder: Path) -> None:
    (path := tmp_path / "archive.zip").write_bytes(b"PK but no zip")
    with pytest.raises(AlteredArchive, match="no archive of a competition that can be read"):
        unpack(path, folder, **LIMITS)


@pytest.mark.parametrize(
    ("rows", "words"), [(b"{", "rows.json is no JSON"), (b"[]", "rows.json holds no tables")]
)
def test_rows_that_are_none_are_refused(folder: Path, rows: bytes, words: str) -> None:
    (folder / ROWS).write_bytes(rows)
    with pytest.raises(AlteredArchive, match=words):
        read_rows(folder)
