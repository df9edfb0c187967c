"""Files that several attempts need, cached on the worker by their digest."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from anyshot_core.data.digests import digest_file
from anyshot_core.wire.worker_api import BlobRef

ROOM = 1 << 30  # bytes of the disk that are kept free for what attempts write


class Fetcher(Protocol):
    """Where missing blobs come from."""

    def fetch(self, blob: BlobRef, target: Path) -> None:
        """Write the verified content of `blob` to `target`."""
        ...


class Workspace:
    """A content-addressed cache, bounded in size and by its disk; the least recently used files go first."""

    def __init__(self, folder: Path, limit_bytes: int, fetcher: Fetcher) -> None:
        self.folder = folder / "blobs"
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.scratch = own_folder(folder / "scratch")
        self._limit, self._fetcher = limit_bytes, fetcher
        self._locks: dict[str, threading.Lock] = {}
        self._held: Counter[Path] = Counter()
        self._guard = threading.Lock()

    def get(self, blob: BlobRef, suffix: str = "") -> Path:
        """The path of the blob's verified content, downloaded once however many threads ask."""
        path = self.path(blob.digest, suffix)
        with self._lock_of(blob.digest):
            if not (path.exists() and path.stat().st_size == blob.size):
                self._keep(path, lambda part: self._fetcher.fetch(blob, part))
            os.utime(path)
        self._evict(keep=path)
        return path

    def derive(self, key: str, suffix: str, make: Callable[[Path], None]) -> Path:
        """A file made from others of the cache, kept under a key that says all that it follows from."""
        path = self.path(key, suffix)
        with self._lock_of(key):
            if not path.exists():
                self._keep(path, make)
            os.utime(path)
        self._evict(keep=path)
        return path

    def has_room(self) -> bool:
        """Whether an attempt can write what it has to; cached files that nobody uses make room for it."""
        self._evict()
        return not self._is_tight()

    def digests(self) -> list[str]:
        """The digests of everything in the cache."""
        return sorted(path.name.partition(".")[0] for path in self.folder.iterdir())

    def path(self, key: str, suffix: str) -> Path:
        """Where the file of that digest or key lies, once it is there."""
        return self.folder / f"{key}{suffix}"

    @contextmanager
    def hold(self) -> Iterator[HeldFiles]:
        """For one attempt: what it asks for stays until it ends, whatever others need."""
        files = HeldFiles(self)
        try:
            yield files
        finally:
            self.let_go(files.held)

    def retain(self, path: Path) -> None:
        """Never remove the file for want of room, until `let_go`."""
        with self._guard:
            self._held[path] += 1

    def let_go(self, paths: Iterable[Path]) -> None:
        """These files are only cached from now on, as far as who retained them goes."""
        with self._guard:
            self._held -= Counter(paths)

    def _keep(self, path: Path, write: Callable[[Path], None]) -> None:
        """A file is there whole or not at all, also when the machine loses its power."""
        handle, name = tempfile.mkstemp(dir=self.scratch)
        os.close(handle)
        part = Path(name)
        try:
            write(part)
            part.chmod(0o444)
            with part.open("rb") as file:
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    def _lock_of(self, digest: str) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(digest, threading.Lock())

    def _is_tight(self) -> bool:
        return shutil.disk_usage(self.scratch).free < ROOM

    def _evict(self, keep: Path | None = None) -> None:
        """Remove what was used longest ago; a file that is mapped or mounted stays readable where it is open."""
        with self._guard:
            files = sorted((p.stat().st_mtime, p.stat().st_size, p) for p in self.folder.iterdir())
            total = sum(size for _, size, _ in files)
            for _, size, path in files:
                if total <= self._limit and not self._is_tight():
                    return
                if path != keep and path not in self._held:
                    with suppress(FileNotFoundError):
                        path.unlink()
                    total -= size


class HeldFiles:
    """The cache as one attempt uses it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.held: list[Path] = []
        self._digests: dict[Path, str] = {}

    def get(self, blob: BlobRef, suffix: str = "") -> Path:
        """As `Workspace.get`."""
        self._digests[self._hold(blob.digest, suffix)] = blob.digest
        return self._workspace.get(blob, suffix)

    def derive(self, key: str, suffix: str, make: Callable[[Path], None]) -> Path:
        """As `Workspace.derive`."""
        self._hold(key, suffix)
        return self._workspace.derive(key, suffix, make)

    def drop_damaged(self) -> bool:
        """Whether a file is not what was fetched; it goes, and what was derived too, so that they are fetched anew."""
        damaged = [path for path, digest in self._digests.items() if not _has(path, digest)]
        derived = [path for path in self.held if path not in self._digests]
        for path in damaged + derived if damaged else ():
            with suppress(OSError):
                path.unlink()
        return bool(damaged)

    def _hold(self, key: str, suffix: str) -> Path:
        path = self._workspace.path(key, suffix)
        self._workspace.retain(path)
        self.held.append(path)
        return path


def _has(path: Path, digest: str) -> bool:
    try:
        return digest_file(path) == digest
    except OSError:
        return False


def own_folder(parent: Path) -> Path:
    """A new folder below `parent` for this process as long as it lives; what dead ones left there goes.

    Locks end with their process, however that ends: the next process removes what is not locked.
    """
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    guard = _open_folder(parent)
    try:
        fcntl.flock(guard, fcntl.LOCK_EX)  # no other process is between making its folder and locking it
        for left in parent.iterdir():
            _remove_unlocked(left)
        made = Path(tempfile.mkdtemp(dir=parent))
        fcntl.flock(_open_folder(made), fcntl.LOCK_EX)  # open until the process ends
        return made
    finally:
        os.close(guard)


def _remove_unlocked(path: Path) -> None:
    try:
        lock = _open_folder(path)
    except OSError:  # nothing that we made
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    finally:
        os.close(lock)
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink()


def _open_folder(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
