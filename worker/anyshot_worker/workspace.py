"""Files that several attempts need, cached on the worker by their digest."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from anyshot_core.wire.worker_api import BlobRef


class Fetcher(Protocol):
    """Where missing blobs come from."""

    def fetch(self, blob: BlobRef, target: Path) -> None:
        """Write the verified content of `blob` to `target`."""
        ...


class Workspace:
    """A content-addressed cache, bounded in size; the least recently used files go first."""

    def __init__(self, folder: Path, limit_bytes: int, fetcher: Fetcher) -> None:
        self.folder = folder / "blobs"
        self.scratch = folder / "scratch"
        for made in (self.folder, self.scratch):
            made.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._limit, self._fetcher = limit_bytes, fetcher
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def get(self, blob: BlobRef, suffix: str = "") -> Path:
        """The path of the blob's verified content, downloaded once however many threads ask."""
        path = self.folder / f"{blob.digest}{suffix}"
        with self._lock_of(blob.digest):
            if not (path.exists() and path.stat().st_size == blob.size):
                self._download(blob, path)
            os.utime(path)
        self._evict(keep=path)
        return path

    def derive(self, key: str, suffix: str, make: Callable[[Path], None]) -> Path:
        """A file made from others of the cache, kept under a key that says all that it follows from."""
        path = self.folder / f"{key}{suffix}"
        with self._lock_of(key):
            if not path.exists():
                handle, name = tempfile.mkstemp(dir=self.scratch)
                os.close(handle)
                part = Path(name)
                try:
                    make(part)
                    part.chmod(0o444)
                    part.replace(path)
                finally:
                    part.unlink(missing_ok=True)
            os.utime(path)
        self._evict(keep=path)
        return path

    def digests(self) -> list[str]:
        """The digests of everything in the cache."""
        return sorted(path.name.partition(".")[0] for path in self.folder.iterdir())

    def _download(self, blob: BlobRef, path: Path) -> None:
        handle, name = tempfile.mkstemp(dir=self.scratch)
        os.close(handle)
        part = Path(name)
        try:
            self._fetcher.fetch(blob, part)
            part.chmod(0o444)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    def _lock_of(self, digest: str) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(digest, threading.Lock())

    def _evict(self, keep: Path) -> None:
        """Remove what was used longest ago; a file that is mapped or mounted stays readable where it is open."""
        with self._guard:
            files = sorted((p.stat().st_mtime, p.stat().st_size, p) for p in self.folder.iterdir())
            total = sum(size for _, size, _ in files)
            for _, size, path in files:
                if total <= self._limit:
                    return
                if path != keep:
                    with suppress(FileNotFoundError):
                        path.unlink()
                    total -= size
