"""Loads libraries that were compiled in the run, as torch.compile and Triton do, where no file can be executed.

A box mounts its scratch space without the right to execute. Memory may be executed there, which compilers like Numba's
need, so a library is copied into a file that lies in memory alone, and is loaded from that.
"""

import ctypes
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any


def load_from_memory() -> None:
    """Have `ctypes` and `import` load libraries through memory where their file system executes nothing."""
    if not hasattr(os, "memfd_create"):
        return  # not Linux: no box
    dlopen, create = ctypes._dlopen, ExtensionFileLoader.create_module  # type: ignore[attr-defined]

    def open_library(name: Any, mode: int = ctypes.DEFAULT_MODE) -> int:
        with _executable(name) as path:
            return dlopen(path, mode)

    def create_module(self: ExtensionFileLoader, spec: ModuleSpec) -> ModuleType:
        origin = spec.origin
        with _executable(origin) as spec.origin:
            module = create(self, spec)
        spec.origin = origin
        return module

    ctypes._dlopen = open_library  # type: ignore[attr-defined]
    ExtensionFileLoader.create_module = create_module  # type: ignore[method-assign]


@contextmanager
def _executable(name: Any) -> Iterator[Any]:
    """What to load a library by. It is new each time: the loader takes an equal path for the same library."""
    path = Path(name) if isinstance(name, str | os.PathLike) and Path(name).is_file() else None
    if path is None or not os.statvfs(path).f_flag & os.ST_NOEXEC:
        yield name
        return
    with os.fdopen(os.memfd_create(path.name[:200]), "wb") as memory, tempfile.TemporaryDirectory() as folder:
        memory.write(path.read_bytes())
        memory.flush()
        link = Path(folder, path.name)
        link.symlink_to(f"/proc/self/fd/{memory.fileno()}")
        yield str(link)
