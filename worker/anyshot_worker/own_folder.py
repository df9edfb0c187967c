"""A folder that goes with its process: locks do, however that ends, and the next process removes what is not locked."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path


def own_folder(parent: Path) -> Path:
    """A new folder below `parent` for this process as long as it lives; what dead ones left there goes."""
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    guard = _open(parent)
    try:
        fcntl.flock(guard, fcntl.LOCK_EX)  # no other process is between making its folder and locking it
        for left in parent.iterdir():
            _remove_unlocked(left)
        made = Path(tempfile.mkdtemp(dir=parent))
        fcntl.flock(_open(made), fcntl.LOCK_EX)  # open until the process ends
        return made
    finally:
        os.close(guard)


def _remove_unlocked(path: Path) -> None:
    try:
        lock = _open(path)
    except OSError:  # nothing that we made
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    finally:
        os.close(lock)
    _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink()


def _open(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
