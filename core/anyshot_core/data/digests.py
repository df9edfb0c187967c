"""The hashes that packs use, and the one that files are known by.

Metadata and labels, which are small, are hashed with BLAKE2b of the standard library, so that a pack can be opened with
nothing installed. Blocks of images are hashed with BLAKE3, which is ten times as quick as anything that the standard
library offers where the CPU has no instructions for SHA: with BLAKE2b, hashing would cost as much as decoding.
"""

import hashlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

Buffer = bytes | bytearray | memoryview


class Hasher(Protocol):
    """What hashlib's objects can do, as far as it is needed."""

    def update(self, data: Buffer, /) -> object: ...

    def digest(self) -> bytes: ...


class UnknownHash(ValueError):
    """A pack names a hash that this installation cannot compute; the argument is its name."""


def digest_of(data: Buffer) -> bytes:
    """BLAKE2b of 32 bytes."""
    return hashlib.blake2b(data, digest_size=32).digest()


def digest_file(path: Path) -> str:
    """sha256 of a file, 64 hex digits: its name wherever files are known by their bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def block_hash() -> str:
    """Name of the hash for blocks in new packs: BLAKE3, or BLAKE2b where its package is missing."""
    return "blake3" if importlib.util.find_spec("blake3") else "blake2b"


def block_hasher(name: str) -> Hasher:
    """A hash of that name with nothing in it yet; its digest has 32 bytes.

    Raises:
        UnknownHash: there is none, or its package is missing.
    """
    if name == "blake2b":
        return hashlib.blake2b(digest_size=32)
    if name == "blake3" and importlib.util.find_spec("blake3"):
        import blake3

        return blake3.blake3()
    raise UnknownHash(name)


def block_digest(name: str) -> Callable[[Buffer], bytes]:
    """The hash of that name for whole blocks, 32 bytes. Raises UnknownHash."""
    block_hasher(name)  # to be refused now, and not at the first block

    def digest(data: Buffer) -> bytes:
        hasher = block_hasher(name)
        hasher.update(data)
        return hasher.digest()

    return digest
