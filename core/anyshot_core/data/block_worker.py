"""Decodes blocks of images straight into an unfinished pack.

`python -m anyshot_core.data.block_worker` answers one JSON line on stdin with one on stdout; it imports as
little as it can, because each process of a pool pays for it.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from dataclasses import asdict, dataclass

from anyshot_core.data.digests import block_hasher
from anyshot_core.data.images import IMAGE_BYTES, UnreadableImage, WrongMode, decode_into


@dataclass(frozen=True)
class BlockJob:
    """Decode `files` of the folder `images` and write them into `out` from byte `offset` on."""

    block: int
    images: str
    files: list[str]
    out: str
    offset: int
    convert: bool
    hash: str


@dataclass(frozen=True)
class BadImage:
    """An image that could not be used: its place in the block and why."""

    position: int
    reason: str
    wrong_mode: bool


@dataclass(frozen=True)
class BlockResult:
    """A block that was written: the digest of its pixels and the images that are missing in it (left black)."""

    block: int
    digest: str
    bad: tuple[BadImage, ...]

    @classmethod
    def from_dict(cls, data: dict[str, object]) -> BlockResult:
        """The inverse of `dataclasses.asdict`."""
        bad = data["bad"]
        assert isinstance(bad, list)
        return cls(int(str(data["block"])), str(data["digest"]), tuple(BadImage(**item) for item in bad))


def write_block(job: BlockJob) -> BlockResult:
    """Decode one block and write it, image by image: what was just decoded is still in the cache."""
    bad, hasher, offset = [], block_hasher(job.hash), job.offset
    pixels = memoryview(bytearray(IMAGE_BYTES))
    descriptor = os.open(job.out, os.O_WRONLY)
    try:
        for position, file in enumerate(job.files):
            try:
                decode_into(f"{job.images}/{file}", pixels, convert=job.convert)
            except (UnreadableImage, WrongMode) as error:
                bad.append(BadImage(position, str(error), isinstance(error, WrongMode)))
                pixels[:] = bytes(IMAGE_BYTES)
            hasher.update(pixels)
            _write_all(descriptor, pixels, offset)
            offset += IMAGE_BYTES
    finally:
        os.close(descriptor)
    return BlockResult(job.block, hasher.digest().hex(), tuple(bad))


def _write_all(descriptor: int, view: memoryview, offset: int) -> None:
    while len(view):
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


def main() -> None:
    """Answer jobs until stdin ends."""
    gc.freeze()  # what is imported stays: the collector need not look at it again
    for line in sys.stdin.buffer:
        job = BlockJob(**json.loads(line))
        try:
            reply = asdict(write_block(job))
        except OSError as error:  # a full disk, a folder that went away
            reply = {"error": str(error)}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
