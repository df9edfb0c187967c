"""Packs a submission's folder into a zip that passes the checks, the same bytes for the same files."""

import os
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

DRY_RUN_FOLDER = "anyshot-dry-run"  # into which a dry run writes where no other folder is named

LEFT_OUT = {
    "__pycache__",
    ".git",
    ".ipynb_checkpoints",
    ".pytest_cache",
    ".ruff_cache",
    ".venv",
    "venv",
    ".DS_Store",
    "__MACOSX",
    DRY_RUN_FOLDER,
}
_EXPECTED = "expected.toml"  # a baseline's recorded score says nothing to the runner, and would change the zip's digest
_EPOCH = (2020, 1, 1, 0, 0, 0)
_ALREADY_PACKED = {".zip", ".gz", ".npz", ".png", ".jpg", ".pt", ".pth", ".safetensors", ".bin"}


def is_left_out(path: str) -> bool:
    """Whether a path inside a submission is one that is not packed: of caches, version control and the like."""
    return not LEFT_OUT.isdisjoint(path.split("/"))


def pack_folder(folder: Path, target: Path, without: Iterable[Path] = ()) -> list[str]:
    """Write the zip at `target` and return the names in it. Raises FileNotFoundError without such a folder.

    Links are followed, so that what they point to is packed; a link to a folder around it is left out. So are caches,
    version control, what dry runs write, `expected.toml`, and the files and folders of `without`.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder")
    left_out = {path.resolve() for path in (target, *without)}
    names = sorted(set(_names(folder, left_out)) - {_EXPECTED})
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name in names:
            _add(archive, folder / name, name)
    return names


def _names(folder: Path, without: set[Path]) -> Iterator[str]:
    # Where a folder, and each above it on the way to it, really is.
    around: dict[Path, tuple[Path, ...]] = {folder: (folder.resolve(),)}
    for place, folders, files in os.walk(folder, followlinks=True):
        here = Path(place)
        ways = {here / name: (here / name).resolve() for name in folders if name not in LEFT_OUT}
        above = around.pop(here)
        for path, real in ways.items():
            if real not in without and not any(outer.is_relative_to(real) for outer in above):
                around[path] = (*above, real)
        folders[:] = [name for name in folders if here / name in around]
        yield from (path.relative_to(folder).as_posix() for path in _files(here, files, without))


def _files(folder: Path, names: Iterable[str], without: set[Path]) -> Iterator[Path]:
    for path in (folder / name for name in names if name not in LEFT_OUT):
        if path.is_file() and path.resolve() not in without:
            yield path


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.external_attr = 0o100644 << 16
    info.create_system = 3
    stored = path.suffix.lower() in _ALREADY_PACKED
    info.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    with path.open("rb") as source, archive.open(info, "w") as sink:
        while piece := source.read(1 << 20):
            sink.write(piece)
