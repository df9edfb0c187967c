"""The scratch space as submissions of 2022 expect it.

```
<scratch>/log.txt                 may be written as <submission>/../../log.txt
<scratch>/run/                    working directory, with links to what the submission brought
<scratch>/run/program/            the submission, inserted at sys.path[1]
<scratch>/output/model/           where `save` writes and `load` reads
<scratch>/output/checkpoint/      what a meta-learner saves of itself while it trains
<scratch>/output/snapshots/       snapshots of training, where the run asks for them
<scratch>/output/logs/            logger.logs_dir
<scratch>/home/, <scratch>/tmp/   HOME, caches, temporary files
```
"""

import contextlib
import ctypes
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import anyshot_starting_kit.api


@dataclass(frozen=True, slots=True)
class Scratch:
    """The folders of one run."""

    root: Path

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def program(self) -> Path:
        return self.root / "run" / "program"

    @property
    def model(self) -> Path:
        return self.root / "output" / "model"

    @property
    def checkpoint(self) -> Path:
        return self.root / "output" / "checkpoint"

    @property
    def snapshots(self) -> Path:
        return self.root / "output" / "snapshots"

    @property
    def logs(self) -> Path:
        return self.root / "output" / "logs"

    @property
    def archive(self) -> Path:
        """Where the zip lies while it comes in."""
        return self.root / "incoming.zip"


def prepare(root: Path) -> Scratch:
    """Make the folders and point the environment to them."""
    scratch = Scratch(root)
    home = root / "home"
    folders = (scratch.program, scratch.model, scratch.logs, home / ".cache" / "torch", root / "tmp")
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    cache = home / ".cache"
    os.environ.update(
        HOME=str(home),
        TMPDIR=str(root / "tmp"),
        XDG_CACHE_HOME=str(cache),
        XDG_CONFIG_HOME=str(home / ".config"),
        TORCH_HOME=str(cache / "torch"),
        HF_HOME=str(cache / "huggingface"),
        HF_HUB_OFFLINE="1",
        MPLCONFIGDIR=str(cache / "matplotlib"),
        NUMBA_CACHE_DIR=str(cache / "numba"),
        TORCHINDUCTOR_CACHE_DIR=str(cache / "torchinductor"),
        TORCHINDUCTOR_COMPILE_THREADS="1",  # here, not in processes that would each import torch
        TORCHINDUCTOR_VEC_ISA_OK="1",  # its trial of the processor's instructions executes a file of the scratch space
        TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS="0",  # hundreds of MB of scratch space, and takes openssl
        TRITON_CACHE_DIR=str(cache / "triton"),
        NO_ALBUMENTATIONS_UPDATE="1",  # it would ask the network for its newest version
        TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD="1",  # whole modules are pickled by submissions of 2022
        PYTHONDONTWRITEBYTECODE="1",
    )
    os.environ.setdefault("USER", "participant")
    sys.dont_write_bytecode = True
    tempfile.tempdir = None
    _load_from_memory()
    return scratch


def enter(scratch: Scratch) -> None:
    """Take the working directory and sys.path of 2022; offer `api` where the submission ships none."""
    os.chdir(scratch.run)
    for entry in scratch.program.iterdir():
        with contextlib.suppress(FileExistsError):
            (scratch.run / entry.name).symlink_to(Path("program") / entry.name)
    own_api = scratch.program / "api.py"
    if not own_api.exists() and not (scratch.program / "api").is_dir():
        own_api.write_bytes(Path(anyshot_starting_kit.api.__file__).read_bytes())
    sys.path.insert(1, str(scratch.program))
    sys.argv = ["ingestion.py"]


def _load_from_memory() -> None:
    """Have `ctypes` and `import` load libraries through memory where their file system executes nothing.

    torch.compile, Triton and Numba compile libraries in the run. A box mounts its scratch space without the right to
    execute, but executes memory, so a library is copied into a file that lies in memory alone, and is loaded from that.
    """
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


@contextlib.contextmanager
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
