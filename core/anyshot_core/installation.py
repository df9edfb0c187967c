"""Where the packages of this installation lie, found without importing them, and what installs kit and worker."""

import importlib.util
import os
from pathlib import Path

# Of torch, on Linux, without CUDA: pip's own choice there is several gigabytes.
CPU_TORCH = "pip install torch --index-url https://download.pytorch.org/whl/cpu"


def install_line(address: str, version: str) -> str:
    """The command that installs the starting kit from the site of this address, in exactly this version."""
    return _install("anyshot-starting-kit[torch]", address, version)


def join_line(address: str, version: str) -> str:
    """The command that makes a machine a worker of the site of this address, by the site's own version."""
    return f"{_install('anyshot-worker', address, version)} && anyshot worker join {address}"


def _install(package: str, address: str, version: str) -> str:
    return f'pip install --extra-index-url {address}/kit/simple/ "{package}=={version}"'


def package_folder(name: str) -> Path:
    """The folder of an installed package. Raises ModuleNotFoundError."""
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"{name} is not installed here.", name=name)
    return Path(next(iter(found.submodule_search_locations)))


def package_files(name: str) -> list[Path]:
    """The files of an installed package, in order, without what Python leaves beside them.

    In a checkout, folders that a package links to are in it too, as in its wheel.
    """
    walked = os.walk(package_folder(name), followlinks=True)
    paths = sorted(Path(folder, file) for folder, _, files in walked for file in files)
    return [path for path in paths if "__pycache__" not in path.parts]
