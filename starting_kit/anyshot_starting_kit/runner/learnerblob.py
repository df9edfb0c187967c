"""A saved learner as one opaque stream of bytes: names, sizes, contents. No links, no modes, nothing executable.

Per file: name length u16, size u64, name (UTF-8, relative), content. Both ends are runners; the host only
stores the bytes.
"""

import struct
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

_HEAD = struct.Struct("<HQ")


class BadLearner(ValueError):
    """A saved learner that cannot be exported or restored."""


def size(folder: Path) -> int:
    """The bytes of all files below `folder`."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def export(folder: Path, limit: int, piece: int, by: str = "save") -> Iterator[bytes]:
    """The files below `folder`, written `by` that method, in pieces of at most `piece` bytes.

    Raises BadLearner beyond `limit` bytes.
    """
    total = 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix().encode()
        size = path.stat().st_size
        total += _HEAD.size + len(name) + size
        if total > limit:
            raise BadLearner(f"{by} wrote more than {limit >> 20} MiB; a learner may have no more.")
        yield _HEAD.pack(len(name), size) + name
        with path.open("rb") as file:
            left = size
            while left:
                data = file.read(min(piece, left))
                if not data:
                    raise BadLearner(f"{path.name} shrank while it was read.")
                left -= len(data)
                yield data


def restore(source: BinaryIO, folder: Path) -> None:
    """Write the files back. Raises BadLearner for anything else than an export."""
    folder.mkdir(parents=True, exist_ok=True)
    while head := source.read(_HEAD.size):
        if len(head) < _HEAD.size:
            raise BadLearner("the saved learner is cut off")
        name_length, size = _HEAD.unpack(head)
        path = folder / _checked(source.read(name_length))
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            while size:
                data = source.read(min(size, 1 << 20))
                if not data:
                    raise BadLearner("the saved learner is cut off")
                size -= len(data)
                file.write(data)


def _checked(raw: bytes) -> PurePosixPath:
    try:
        name = PurePosixPath(raw.decode())
    except UnicodeDecodeError as error:
        raise BadLearner("the saved learner has a broken file name") from error
    if name.is_absolute() or ".." in name.parts or not name.parts:
        raise BadLearner("the saved learner has a path that climbs out")
    return name
