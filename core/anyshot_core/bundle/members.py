"""Reads single members of a zip into memory, bounded;
used for model.py and config.json and, in the sandbox, to unpack.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

from anyshot_core.bundle.zipsafety import ZipMember, ZipRefused

_PIECE = 1 << 20
_DEFLATED = 8


def read_member(path: Path, entry: ZipMember, limit: int) -> bytes | None:
    """The content of a member, None where it states more than `limit` bytes. Raises ZipRefused where it lies."""
    if entry.size > limit:
        return None
    return b"".join(pieces(path, entry))


def pieces(path: Path, entry: ZipMember) -> Iterator[bytes]:
    """The content piece by piece; stops with ZipRefused at the first byte beyond the stated size, or a wrong sum."""
    done, crc = 0, 0
    for piece in _decoded(path, entry):
        done += len(piece)
        if done > entry.size:
            raise _lies(entry)
        crc = zlib.crc32(piece, crc)
        yield piece
    if done != entry.size or crc != entry.crc:
        raise _lies(entry)


def _decoded(path: Path, entry: ZipMember) -> Iterator[bytes]:
    packed = _packed(path, entry)
    if entry.method != _DEFLATED:
        yield from packed
        return
    decoder = zlib.decompressobj(-15)
    try:
        for piece in packed:
            yield from _inflate(decoder, piece)
    except zlib.error:
        raise ZipRefused("damaged", f"{entry.path!r} cannot be unpacked.", "Zip the folder again.") from None


def _inflate(decoder: zlib._Decompress, piece: bytes) -> Iterator[bytes]:
    while piece and not decoder.eof:
        out = decoder.decompress(piece, _PIECE)
        piece = decoder.unconsumed_tail
        if out:
            yield out


def _packed(path: Path, entry: ZipMember) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(entry.data)
        left = entry.packed
        while left > 0:
            piece = file.read(min(_PIECE, left))
            if not piece:
                raise _lies(entry)
            left -= len(piece)
            yield piece


def _lies(entry: ZipMember) -> ZipRefused:
    problem = f"{entry.path!r} is not what the zip's directory says."
    return ZipRefused("lying_size", problem, "Zip the folder again.")
