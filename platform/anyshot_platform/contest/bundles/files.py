"""The files of a bundle, from a folder, a zip or memory; nothing is ever written to disk while reading."""

import io
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from anyshot_platform.contest.bundles.yaml_lines import FileProblem

LIMIT_ENTRIES = 5_000
LIMIT_NAMES = 250_000  # with the files of its data, which are not read
LIMIT_TOTAL = 512 << 20
LIMIT_NAMED = 256 << 20  # of the files that the definition names: pages, baselines
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


def open_bundle(source: Path | bytes, beside: Callable[[bytes], set[str]] = lambda _: set()) -> BundleFiles:
    """Files of a folder, a zip on disk, or a zip in memory.

    `beside` says of the definition which paths are data: their files are neither read nor counted.

    Raises:
        BundleUnreadable: not a zip, too large, paths that climb out, or no competition.yaml.
    """
    with open_tree(source) as tree:
        name = tree.definition()
        root = name[: -len(PurePosixPath(name).name)]
        left = tuple(f"{root}{path}" for path in beside(tree.read(name, LIMIT_TOTAL)))
        wanted = [other for other in tree.names if other.startswith(root) and not _lies_in(other, left)]
        if len(wanted) > LIMIT_ENTRIES:
            raise _too_many(len(wanted), LIMIT_ENTRIES)
        contents: dict[str, bytes] = {}
        room = LIMIT_TOTAL
        for other in wanted:
            contents[other.removeprefix(root)] = data = tree.read(other, room)
            room -= len(data)
    return BundleFiles(contents, name.removeprefix(root))


def _lies_in(name: str, paths: tuple[str, ...]) -> bool:
    return any(name == path or name.startswith(f"{path}/") for path in paths)


class Tree:
    """The files of a folder or a zip, by POSIX path; links and what desktops leave behind are not among them."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = sorted(names)

    def open(self, name: str) -> IO[bytes]:
        """A file's content."""
        raise NotImplementedError

    def read(self, name: str, limit: int) -> bytes:
        """A file's bytes; raises `BundleUnreadable` beyond the limit."""
        with self.open(name) as stream:
            data = stream.read(limit + 1)
        if len(data) > limit:
            raise BundleUnreadable(f"the files of the bundle are over {LIMIT_TOTAL >> 20} MiB together")
        return data

    def definition(self) -> str:
        """The shallowest competition.yaml; what stands beside and below it is the bundle."""
        found = [name for name in self.names if PurePosixPath(name).name.lower() in NAMES]
        if not found:
            raise BundleUnreadable("there is no competition.yaml; it belongs at the top of the folder or zip")
        return min(found, key=lambda name: name.count("/"))


class FolderTree(Tree):
    """A folder on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        files = (path for path in folder.rglob("*") if not path.is_symlink() and path.is_file())
        super().__init__(path.relative_to(folder).as_posix() for path in files)

    def open(self, name: str) -> IO[bytes]:
        return (self._folder / name).open("rb")


class ZipTree(Tree):
    """A zip that is open."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        if len(entries) > LIMIT_NAMES:
            raise _too_many(len(entries), LIMIT_NAMES)
        for entry in entries:
            if climbs_out(entry.filename) or "\x00" in entry.filename:
                path = repr(entry.filename)
                raise BundleUnreadable(f"the path {path} climbs out of the zip")
        self._archive = archive
        self._entries = {normal(entry.filename): entry for entry in entries if not _is_litter(entry)}
        super().__init__(self._entries)

    def open(self, name: str) -> IO[bytes]:
        return self._archive.open(self._entries[name])


@contextmanager
def open_tree(source: Path | bytes) -> Iterator[Tree]:
    """The files of a folder or zip; raises `BundleUnreadable` for what is no zip, also while it is read."""
    if isinstance(source, Path) and source.is_dir():
        yield FolderTree(source)
        return
    try:
        with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as archive:
            yield ZipTree(archive)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise BundleUnreadable(
            f"this is not a zip that can be read ({error}); zip the folder again"
        ) from error


def _too_many(found: int, most: int) -> BundleUnreadable:
    return BundleUnreadable(f"the bundle holds {found} files; at most {most} are allowed")


def _is_litter(entry: zipfile.ZipInfo) -> bool:
    link = (entry.external_attr >> 16) & 0o170000 == 0o120000
    return link or "__MACOSX" in entry.filename or entry.filename.endswith(".DS_Store")


def missing_file(path: str, files: BundleFiles) -> str | None:
    """What to say when `path` is not in the bundle; None when it is there."""
    if climbs_out(path):
        return f"{path!r} points outside the bundle"
    if files.has(path):
        return None
    wanted = normal(path).lower()
    near = [name for name in files.contents if name.lower() == wanted or name.lower().endswith("/" + wanted)]
    missing = f"the file {path!r} is not in the bundle"
    return nearest_instead(missing, repr(near[0]) if near else "")


def nearest_instead(words: str, near: str) -> str:
    """What was found wrong, and the name that may be meant, where there is one near."""
    return f"{words}; did you mean {near}?" if near else words


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
