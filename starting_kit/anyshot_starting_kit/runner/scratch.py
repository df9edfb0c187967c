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
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import anyshot_starting_kit.api
from anyshot_starting_kit.runner.compiled import load_from_memory


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
    load_from_memory()
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
