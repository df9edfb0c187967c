"""The files of a bundle, from a folder, a zip or memory; nothing is ever written to disk while reading."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from anyshot_platform.bundles.marked import FileProblem

LIMIT_ENTRIES = 5_000
LIMIT_TOTAL = 512 << 20
NAMES = ("competition.yaml", "competition.yml")


class BundleUnreadable(Exception):
    """The bundle cannot be opened at all; the message says why and what to do."""


@dataclass(frozen=True)
class BundleFiles:
    """Contents by POSIX path relative to the folder that holds `competition.yaml`."""

    contents: dict[str, bytes]
    name: str = "competition.yaml"

    @property
    def definition(self) -> bytes:
        return self.contents[self.name]

    def read(self, path: str) -> bytes | None:
        return self.contents.get(normal(path))

    def under(self, folder: str) -> dict[str, bytes]:
        """Files inside `folder`, by path relative to it."""
        prefix = normal(folder) + "/"
        return {name[len(prefix) :]: data for name, data in self.contents.items() if name.startswith(prefix)}

    def has(self, path: str) -> bool:
        return normal(path) in self.contents or bool(self.under(path))


def normal(path: str) -> str:
    """`./pages\\a.md` and `pages/a.md/` as `pages/a.md`."""
    return PurePosixPath(path.replace("\\", "/")).as_posix().removeprefix("./").lstrip("/")


def climbs_out(path: str) -> bool:
    return path.startswith(("/", "\\")) or ".." in PurePosixPath(path.replace("\\", "/")).parts


def open_bundle(source: Path | bytes) -> BundleFiles:
    """Files of a folder, a zip on disk, or a zip in memory.

    Raises:
        BundleUnreadable: not a zip, too large, paths that climb out, or no competition.yaml.
    """
    if isinstance(source, Path) and source.is_dir():
        contents = _read_folder(source)
    else:
        contents = _read_zip(io.BytesIO(source) if isinstance(source, bytes) else source)
    return _rooted(contents)


def _read_folder(folder: Path) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    total = 0
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        total += path.stat().st_size
        if total > LIMIT_TOTAL or len(contents) >= LIMIT_ENTRIES:
            raise BundleUnreadable(f"the folder holds over {LIMIT_TOTAL >> 20} MiB or {LIMIT_ENTRIES} files")
        contents[path.relative_to(folder).as_posix()] = path.read_bytes()
    return contents


def _read_zip(source: io.BytesIO | Path) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(source) as archive:
            return _read_entries(archive)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise BundleUnreadable(
            f"this is not a zip that can be read ({error}); zip the folder again"
        ) from error


def _read_entries(archive: zipfile.ZipFile) -> dict[str, bytes]:
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(entries) > LIMIT_ENTRIES:
        raise BundleUnreadable(f"the zip holds {len(entries)} files; at most {LIMIT_ENTRIES} are allowed")
    contents: dict[str, bytes] = {}
    left = LIMIT_TOTAL
    for entry in entries:
        if climbs_out(entry.filename) or "\x00" in entry.filename:
            raise BundleUnreadable(f"the path {entry.filename!r} climbs out of the zip")
        if _is_link(entry) or "__MACOSX" in entry.filename or entry.filename.endswith(".DS_Store"):
            continue
        with archive.open(entry) as stream:
            data = stream.read(left + 1)
        left -= len(data)
        if left < 0:
            raise BundleUnreadable(f"the zip unpacks to over {LIMIT_TOTAL >> 20} MiB")
        contents[normal(entry.filename)] = data
    return contents


def _is_link(entry: zipfile.ZipInfo) -> bool:
    return (entry.external_attr >> 16) & 0o170000 == 0o120000


def _rooted(contents: dict[str, bytes]) -> BundleFiles:
    """Take the shallowest competition.yaml, and what stands beside and below it."""
    found = sorted(
        (name for name in contents if PurePosixPath(name).name.lower() in NAMES),
        key=lambda name: name.count("/"),
    )
    if not found:
        raise BundleUnreadable("there is no competition.yaml; it belongs at the top of the folder or zip")
    prefix = found[0].rpartition("/")[0]
    start = f"{prefix}/" if prefix else ""
    inside = {name[len(start) :]: data for name, data in contents.items() if name.startswith(start)}
    return BundleFiles(inside, found[0][len(start) :])


def missing_file(path: str, files: BundleFiles) -> str | None:
    """What to say when `path` is not in the bundle; None when it is there."""
    if climbs_out(path):
        return f"{path!r} points outside the bundle"
    if files.has(path):
        return None
    wanted = normal(path).lower()
    near = [name for name in files.contents if name.lower() == wanted or name.lower().endswith("/" + wanted)]
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"the file {path!r} is not in the bundle{hint}"


def write_zip(contents: dict[str, bytes]) -> bytes:
    """A zip of these files with fixed times, so that equal bundles are equal bytes."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(name, date_time=(2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, contents[name])
    return target.getvalue()


__all__ = [
    "BundleFiles",
    "BundleUnreadable",
    "FileProblem",
    "missing_file",
    "normal",
    "open_bundle",
    "write_zip",
]
