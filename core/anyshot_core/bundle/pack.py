"""Packs a submission's folder into a zip that passes the checks, the same bytes for the same files."""

from __future__ import annotations

import zipfile
from pathlib import Path

_LEFT_OUT = {
    "__pycache__",
    ".git",
    ".ipynb_checkpoints",
    ".pytest_cache",
    ".ruff_cache",
    ".venv",
    ".DS_Store",
    "__MACOSX",
}
_EXPECTED = "expected.toml"  # a baseline's recorded score says nothing to the runner, and would change the zip's digest
_EPOCH = (2020, 1, 1, 0, 0, 0)
_ALREADY_PACKED = {".zip", ".gz", ".npz", ".png", ".jpg", ".pt", ".pth", ".safetensors", ".bin"}


def pack_folder(folder: Path, target: Path) -> list[str]:
    """Write the zip at `target` and return the names in it. Raises FileNotFoundError without such a folder.

    Links are followed, so that what they point to is packed. Caches, version control and `expected.toml` are left out.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder")
    names = sorted(_names(folder, target))
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name in names:
            _add(archive, folder / name, name)
    return names


def _names(folder: Path, target: Path) -> list[str]:
    found = []
    for path in folder.rglob("*"):
        relative = path.relative_to(folder)
        unwanted = _LEFT_OUT & set(relative.parts) or relative.as_posix() == _EXPECTED
        if path.is_file() and not unwanted and path.resolve() != target.resolve():
            found.append(relative.as_posix())
    return found


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.external_attr = 0o100644 << 16
    info.create_system = 3
    stored = path.suffix.lower() in _ALREADY_PACKED
    info.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    with path.open("rb") as source, archive.open(info, "w") as sink:
        while piece := source.read(1 << 20):
            sink.write(piece)
