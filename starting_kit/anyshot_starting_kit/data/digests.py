"""The hashes that packs use.

Metadata and labels, which are small, are hashed with BLAKE2b of the standard library, so that a pack can be opened with
nothing installed. Blocks of images are hashed with BLAKE3, which is ten times as quick as anything that the standard
library offers where the CPU has no instructions for SHA: with BLAKE2b, hashing would cost as much as decoding.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable

Buffer = bytes | bytearray | memoryview


class UnknownHash(ValueError):
    """A pack names a hash that this installation cannot compute; the argument is its name."""


def digest_of(data: Buffer) -> bytes:
    """BLAKE2b of 32 bytes."""
    return hashlib.blake2b(data, digest_size=32).digest()


def _blake3(data: Buffer) -> bytes:
    import blake3

    return blake3.blake3(data).digest()


def block_hash() -> str:
    """Name of the hash for blocks in new packs: BLAKE3, or BLAKE2b where its package is missing."""
    return "blake3" if importlib.util.find_spec("blake3") else "blake2b"


def block_digest(name: str) -> Callable[[Buffer], bytes]:
    """The hash of that name, 32 bytes.

    Raises:
        UnknownHash: there is none, or its package is missing.
    """
    if name == "blake2b":
        return digest_of
    if name == "blake3" and importlib.util.find_spec("blake3"):
        return _blake3
    raise UnknownHash(name)
