"""A folder of class folders, as `torchvision.datasets.ImageFolder` reads it; two levels give super-classes."""

import os
from collections.abc import Iterator
from pathlib import Path

from anyshot_core.data.images import READABLE_ENDINGS
from anyshot_core.data.importing.images import CannotImport, Source, SourceImage

SPLITS = frozenset({"train", "training", "val", "valid", "validation", "dev", "test", "testing"})
_DEEPEST = 4  # levels of folders that are looked into; a link to a folder above ends there


def read_folder(folder: Path) -> Source:
    """Images below `folder`: CLASS/IMAGE or SUPER_CLASS/CLASS/IMAGE; folders `train`, `val`, `test` are joined.

    Raises:
        CannotImport: there are no images in class folders, or the two ways are mixed.
    """
    if not folder.is_dir():
        raise CannotImport(f"{folder}: there is no such folder.")
    roots, notes = _roots(folder)
    found = [(root, path) for root in roots for path in _image_files(root)]
    depths = {len(path.relative_to(root).parts) for root, path in found}
    if not found:
        endings = ", ".join(sorted(READABLE_ENDINGS))
        raise CannotImport(
            f"{folder}: found no images in class folders. Files that end in {endings} are read."
        )
    if depths not in ({2}, {3}):
        odd = next(
            path for root, path in found if len(path.relative_to(root).parts) != max(depths & {2, 3} or {2})
        )
        raise CannotImport(
            f"{folder}: found images at different depths (for instance {odd.relative_to(folder)}); expected"
            " CLASS/IMAGE for all, or SUPER_CLASS/CLASS/IMAGE for all. Move them, or use `anyshot data import csv`."
        )
    if depths == {3}:
        notes = (*notes, "The first level of folders was read as super-classes, the second as classes.")
    return Source(_images(found, folder), notes=notes)


def _roots(folder: Path) -> tuple[list[Path], tuple[str, ...]]:
    """The folders that hold class folders: the folder itself, or its splits."""
    inside = sorted(child for child in folder.iterdir() if child.is_dir() and not child.name.startswith("."))
    if inside and all(child.name.casefold() in SPLITS for child in inside):
        names = ", ".join(child.name for child in inside)
        return inside, (f"The splits {names} were joined: tasks are drawn from all images of a class.",)
    return [folder], ()


def _image_files(root: Path) -> list[Path]:
    """Image files below a folder, sorted; linked folders are followed, hidden ones and deep ones are not."""
    found: list[Path] = []
    for place, folders, files in os.walk(root, followlinks=True):
        depth = len(Path(place).relative_to(root).parts)
        folders[:] = [name for name in folders if not name.startswith(".") and depth < _DEEPEST]
        found += [
            Path(place, name)
            for name in files
            if Path(name).suffix.casefold() in READABLE_ENDINGS and not name.startswith(".")
        ]
    return sorted(found)


def _images(found: list[tuple[Path, Path]], folder: Path) -> Iterator[SourceImage]:
    for root, path in found:
        *above, category, _ = path.relative_to(root).parts
        yield SourceImage(path, category, str(path.relative_to(folder)), above[0] if above else "")
