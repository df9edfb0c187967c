"""What of our own goes into a sandbox: scoring, core and what runs a submission; all of it is public."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

_PACKAGES = ("anyshot_scoring", "anyshot_core", "anyshot_starting_kit")
_LEFT_OUT = {  # what a participant uses outside of a run
    "anyshot_core": ("baselines.py", "charts", "client.py", "command.py", "demo_data", "report"),
    "anyshot_starting_kit": ("cli", "dryrun", "templates"),
}


def package_folder(name: str) -> Path:
    """The folder of an installed package of ours, which is not imported for that."""
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"{name} is not installed beside the worker: its wheel runs submissions.")
    return Path(next(iter(found.submodule_search_locations)))


def package_folders() -> dict[str, Path]:
    """The packages that go into an image."""
    return {name: package_folder(name) for name in _PACKAGES}


def inside_files(name: str) -> Iterator[Path]:
    """The files of a package that go into an image, in order, without what Python leaves beside them."""
    folder = package_folder(name)
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and "__pycache__" not in parts and parts[0] not in _LEFT_OUT.get(name, ()):
            yield path


def python_path() -> str:
    """PYTHONPATH of a process that runs a submission with the packages of this installation."""
    return ":".join(dict.fromkeys(str(folder.parent) for folder in package_folders().values()))
