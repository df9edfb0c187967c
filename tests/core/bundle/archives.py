"""Zips that no zip program writes."""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

MODEL = b"class MyMetaLearner: pass\nclass MyLearner: pass\n"


@dataclass(frozen=True)
class Member:
    """An entry, with room for lies: `stated` and `packed` override the true sizes, `at` the local header's place."""

    name: bytes
    content: bytes = b""
    method: int = 8
    mode: int = 0o100644
    flags: int = 0
    stated: int | None = None
    packed: int | None = None
    at: int | None = None
    local_name: bytes | None = None
    local_size: int | None = None


def build(members: Iterable[Member], *, count: int | None = None, tail: bytes = b"") -> bytes:
    """The bytes of an archive; `count` overrides the number of entries announced."""
    body, directory, number = bytearray(), bytearray(), 0
    for member in members:
        number += 1
        data = _deflate(member.content) if member.method == 8 else member.content
        crc, size = _sum(member.content), len(member.content)
        stated = size if member.stated is None else member.stated
        packed = len(data) if member.packed is None else member.packed
        start = len(body) if member.at is None else member.at
        local_size = stated if member.local_size is None else member.local_size
        local_name = member.name if member.local_name is None else member.local_name
        if member.at is None:
            body += struct.pack(
                "<4s5H3L2H", b"PK\x03\x04", 20, member.flags, member.method, 0, 0, crc, packed, local_size,
                len(local_name), 0,
            )  # fmt: skip
            body += local_name + data
        directory += struct.pack(
            "<4s6H3L5H2L", b"PK\x01\x02", 0x0314, 20, member.flags, member.method, 0, 0, crc, packed, stated,
            len(member.name), 0, 0, 0, 0, member.mode << 16, start,
        )  # fmt: skip
        directory += member.name
    announced = number if count is None else count
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, announced, announced, len(directory), len(body), 0)
    return bytes(body + directory) + end + tail


@lru_cache(maxsize=8)
def _deflate(content: bytes) -> bytes:
    encoder = zlib.compressobj(9, zlib.DEFLATED, -15)
    return encoder.compress(content) + encoder.flush()


@lru_cache(maxsize=8)
def _sum(content: bytes) -> int:
    return zlib.crc32(content)


def good(*more: Member) -> bytes:
    """A bundle that would pass without `more`."""
    return build([Member(b"model.py", MODEL), *more])


def overlapping(copies: int = 4_000) -> bytes:
    """Entries whose packed bytes hold the local headers and packed bytes of all that follow (a quoting bomb)."""
    content = bytes(10 << 20)
    packed = _deflate(content)
    crc = _sum(content)
    names = [b"b%05d" % number for number in range(copies)]
    headers = [
        struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 8, 0, 0, crc, len(packed), 10 << 20, len(name), 0)
        + name
        for name in names
    ]
    step = len(headers[0])
    body = b"".join(headers) + packed
    carrier = Member(b"carrier", body, method=0)
    start = 30 + len(b"carrier")
    inner = [
        Member(name, content, packed=len(packed), at=start + step * number)
        for number, name in enumerate(names)
    ]
    return build([carrier, *inner])


def usual(files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """What zip programs write."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()
