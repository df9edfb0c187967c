"""Where the bytes lie: a folder or an S3 bucket, behind one interface. Keys are sha-256 digests."""

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

STORAGE_KEY = "anyshot.storage"  # in `session.info`, put there by the database's own sessions


class WrongDigest(ValueError):
    """The bytes that were to be stored are others than their digest says; nothing was kept."""


class Storage(Protocol):
    """Content-addressed files."""

    def prepare(self) -> None:
        """Make what the files are kept in, where it is missing."""
        ...

    def put(self, digest: str, source: Path) -> None:
        """Store the file `source`; storing twice is harmless. Raises `WrongDigest`: the bytes are hashed on the way."""
        ...

    def open(self, digest: str) -> BinaryIO:
        """Open for reading; raises `FileNotFoundError`."""
        ...

    def exists(self, digest: str) -> bool:
        """Whether the file is there."""
        ...

    def delete(self, digest: str) -> None:
        """Remove the file; one that is not there is none to remove."""
        ...

    def digests(self) -> Iterator[tuple[str, int]]:
        """All digests with their sizes, in no order."""
        ...

    def direct_url(
        self, digest: str, seconds: int, name: str | None = None, media_type: str = ""
    ) -> str | None:
        """A signed address that serves the file without us, under that name; None where we serve it ourselves."""
        ...


@contextlib.contextmanager
def as_file(storage: Storage, digest: str) -> Iterator[Path]:
    """A stored file under a path of this machine: where it lies, or a copy meanwhile; raises `FileNotFoundError`."""
    if isinstance(storage, FolderStorage):
        if not storage.exists(digest):
            raise FileNotFoundError(digest)
        yield storage.path(digest).absolute()
        return
    with tempfile.NamedTemporaryFile(prefix="anyshot-stored-") as copy:
        with storage.open(digest) as origin:
            shutil.copyfileobj(origin, copy, 1 << 20)
        copy.flush()
        yield Path(copy.name)


class Hashing:
    """A file that is read once, from its beginning, and hashed meanwhile."""

    def __init__(self, origin: BinaryIO) -> None:
        self._origin = origin
        self._sha = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes; none at the end."""
        part = self._origin.read(size)
        self._sha.update(part)
        return part

    def require(self, digest: str) -> None:
        """Raise `WrongDigest` unless what was read has the digest."""
        if self._sha.hexdigest() != digest:
            raise WrongDigest(f"the file does not have the digest {digest}")


class FolderStorage:
    """Files in a folder, two levels deep; written beside their place and renamed into it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, digest: str) -> Path:
        """Where a file lies."""
        return self.folder / digest[:2] / digest

    def put(self, digest: str, source: Path) -> None:
        target = self.path(digest)
        if target.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".incoming-")
        try:
            with os.fdopen(handle, "wb") as sink, source.open("rb") as origin:
                hashing = Hashing(origin)
                shutil.copyfileobj(hashing, sink, 1 << 20)
                sink.flush()
                os.fsync(sink.fileno())
            hashing.require(digest)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def open(self, digest: str) -> BinaryIO:
        return self.path(digest).open("rb")

    def exists(self, digest: str) -> bool:
        return self.path(digest).is_file()

    def delete(self, digest: str) -> None:
        self.path(digest).unlink(missing_ok=True)

    def digests(self) -> Iterator[tuple[str, int]]:
        if not self.folder.is_dir():
            return
        for shelf in self.folder.iterdir():
            for file in shelf.iterdir() if shelf.is_dir() else ():
                with contextlib.suppress(FileNotFoundError):
                    if not file.name.startswith("."):
                        yield file.name, file.stat().st_size

    def direct_url(
        self, digest: str, seconds: int, name: str | None = None, media_type: str = ""
    ) -> str | None:
        return None
