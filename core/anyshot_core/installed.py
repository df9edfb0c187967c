"""Where the packages of this installation lie, found without importing them."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def package_folder(name: str) -> Path:
    """The folder of an installed package. Raises ModuleNotFoundError."""
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"{name} is not installed here.", name=name)
    return Path(next(iter(found.submodule_search_locations)))


def package_files(name: str) -> list[Path]:
    """The files of an installed package, in order, without what Python leaves beside them."""
    paths = sorted(package_folder(name).rglob("*"))
    return [path for path in paths if path.is_file() and "__pycache__" not in path.parts]
