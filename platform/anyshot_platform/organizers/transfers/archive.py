"""The archive of a competition that moves: a zip with a list of its files, read with suspicion."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anyshot_platform.described.wrong import in_words
from anyshot_platform.kernel.filters import join_texts, size

MANIFEST, BUNDLE, ROWS, BLOBS = "manifest.json", "bundle.zip", "rows.json", "blobs/"
MOST_FILES = 200_000
_SMALL = 64 << 20
_NAME = re.compile(r"bundle\.zip|rows\.json|blobs/[0-9a-f]{64}")
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class AlteredArchive(Exception):
    """The archive is none, or was altered on its way; the message says what was found."""


class ArchivedFile(BaseModel):
    """A file of the archive."""

    model_config = ConfigDict(extra="forbid")

    sha256: Digest
    size: Annotated[int, Field(ge=0, lt=2**63)]


class ArchiveManifest(BaseModel):
    """What the archive says of itself."""

    model_config = ConfigDict(extra="forbid")

    anyshot_transfer: Annotated[int, Field(ge=1, le=1)]
    site: Annotated[str, Field(max_length=300)]
    competition: Annotated[str, Field(max_length=64)]
    made_at: Annotated[str, Field(max_length=40)]
    files: Annotated[dict[str, ArchivedFile], Field(max_length=MOST_FILES)]


class ArchiveWriter:
    """Writes an archive file by file; the list of files comes last."""

    def __init__(self, target: Path, site: str, competition: str, made_at: str) -> None:
        self._zip = zipfile.ZipFile(target, "w", zipfile.ZIP_STORED, allowZip64=True)
        self._about = {"anyshot_transfer": 1, "site": site, "competition": competition, "made_at": made_at}
        self._files: dict[str, dict[str, Any]] = {}

    def add(self, name: str, source: Any) -> None:
        """A file from a binary stream."""
        digest, size = hashlib.sha256(), 0
        with self._zip.open(name, "w", force_zip64=True) as sink:
            while chunk := source.read(1 << 20):
                digest.update(chunk)
                size += len(chunk)
                sink.write(chunk)
        self._files[name] = {"sha256": digest.hexdigest(), "size": size}

    def close(self) -> None:
        """Write the list of files."""
        self._zip.writestr(MANIFEST, json.dumps({**self._about, "files": self._files}, indent=1))
        self._zip.close()


def wrong_value(file: str, error: ValidationError) -> str:
    """The first thing that is wrong with the values in a file of the archive."""
    first = error.errors()[0]
    return join_texts((file, ".".join(map(str, first["loc"])), in_words(first)), by=": ")


def unpack(path: Path, folder: Path, *, most_file: int, most: int) -> ArchiveManifest:
    """Copy the files of an archive into a folder, each compared with its digest; blobs by their digest.

    One file has at most `most_file` bytes, all have at most `most`.

    Raises:
        AlteredArchive: no archive of a competition, of another version, too large, or altered.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _read_manifest(archive)
            _require_sizes(manifest, most_file, most)
            for name, file in manifest.files.items():
                _require_place(name, file)
                _copy(archive, name, file, folder / unpacked_name(name))
            return manifest
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, KeyError) as error:
        words = f"This is no archive of a competition that can be read ({error})."
        raise AlteredArchive(words) from error


def _read_manifest(archive: zipfile.ZipFile) -> ArchiveManifest:
    names = archive.namelist()
    if len(names) > MOST_FILES or len(set(names)) != len(names):
        raise AlteredArchive(f"The archive holds too many files ({len(names)}), or one name twice.")
    if MANIFEST not in names or archive.getinfo(MANIFEST).file_size > _SMALL:
        raise AlteredArchive(f"This is no archive of a competition: it has no {MANIFEST} of an honest size.")
    try:
        manifest = ArchiveManifest.model_validate_json(archive.read(MANIFEST))
    except ValidationError as error:
        raise AlteredArchive(wrong_value(MANIFEST, error)) from error
    if set(names) != {MANIFEST, *manifest.files} or not {BUNDLE, ROWS} <= manifest.files.keys():
        raise AlteredArchive("The files of the archive are not those that its list names.")
    return manifest


def _require_sizes(manifest: ArchiveManifest, most_file: int, most: int) -> None:
    sizes = [file.size for file in manifest.files.values()]
    if sum(sizes) > most:
        raise AlteredArchive(
            f"The archive unpacks to {size(sum(sizes))}, and this site takes {size(most)} at most: "
            "its administrators can raise pack_max_bytes."
        )
    if max(sizes) > most_file:
        raise AlteredArchive(
            f"A file of the archive has {size(max(sizes))}, and this site takes {size(most_file)} "
            "at most: its administrators can raise upload_max_bytes or artifact_max_bytes."
        )


def _require_place(name: str, file: ArchivedFile) -> None:
    if _NAME.fullmatch(name) is None:
        shown = repr(name[:80])
        raise AlteredArchive(f"The archive holds {shown}, which has no place in it.")
    if name.startswith(BLOBS) and name.removeprefix(BLOBS) != file.sha256:
        raise AlteredArchive(f"{name} is called by another digest than its own.")


def _copy(archive: zipfile.ZipFile, name: str, file: ArchivedFile, target: Path) -> None:
    if archive.getinfo(name).file_size != file.size:
        raise AlteredArchive(f"{name} has another size than the archive's list says.")
    with archive.open(name) as source, target.open("wb") as sink:
        shutil.copyfileobj(source, sink, 1 << 20)
    with target.open("rb") as written:
        if hashlib.file_digest(written, "sha256").hexdigest() != file.sha256:
            raise AlteredArchive(f"{name} was altered: its digest is not the one in the archive's list.")


def unpacked_name(name: str) -> str:
    """What a file of the archive is called in the folder that it is unpacked into."""
    return name.replace("/", "-")


def read_rows(folder: Path) -> dict[str, Any]:
    """The rows of an unpacked archive; raises `AlteredArchive`."""
    try:
        found = json.loads((folder / ROWS).read_bytes())
    except ValueError as error:
        raise AlteredArchive(f"{ROWS} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise AlteredArchive(f"{ROWS} holds no tables.")
    return found
