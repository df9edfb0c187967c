"""Layout of a pack file, version 1.

    offset 0       header, one page: magic, version, number of images, place and digest of the metadata
    offset 4096    images, raw uint8 [n, 3, 128, 128]; each image is 12 pages long and starts on a page
    then           labels, little-endian int64 [n]
    then           metadata, JSON in UTF-8, up to the end of the file

The digest in the header covers the metadata, the metadata holds a digest of each block of images and one of
the labels: one altered byte anywhere is found. The header is written last, so an unfinished file is never a
pack.
"""

from __future__ import annotations

import os
import struct
from base64 import b64decode, b64encode
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anyshot_core.data.digests import UnknownHash, block_digest, digest_of
from anyshot_core.data.images import IMAGE_BYTES
from anyshot_core.data.problems import BadPack
from anyshot_core.names import NAME_WORDS, is_name

SUFFIX = ".anyshot-pack"
VERSION = 1
PAGE = 4096
BLOCK_IMAGES = 128  # images that share a digest, and the unit of parallel packing: 6 MiB
MOST_META = 64 << 20  # bytes of the metadata: 200,000 images with 40 further columns have 43 MiB
_MAGIC = b"anyshot-pack\r\n\x1a\n"
_HEADER = struct.Struct(
    "<16sIIQQQ32s"
)  # magic, version, 0, images, offset and length of the metadata, its digest


class LeftOut(BaseModel):
    """A file that `--skip-bad` left out, and why."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str
    reason: str


class Annotation(BaseModel):
    """A further column of `labels.csv`: its distinct values, and for each image the number of its value."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    values: list[str]
    codes: str = Field(description="little-endian int32 [n] in base64")

    @classmethod
    def of(cls, cells: Sequence[str]) -> Annotation:
        """Number the values in ascending order."""
        values, codes = np.unique(np.array(cells, dtype=str), return_inverse=True)
        return cls(values=values.tolist(), codes=b64encode(codes.astype("<i4").tobytes()).decode())

    def decode(self) -> np.ndarray:
        """The numbers, int64 `[n]`."""
        return np.frombuffer(b64decode(self.codes), dtype="<i4").astype(np.int64)


class PackMeta(BaseModel):
    """The metadata of a pack."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    domain: str = ""
    description: str = ""
    licence: str = ""
    source: str = ""
    classes: list[str] = Field(min_length=1)
    super_classes: list[str] = Field(description="of each class, '' where it has none")
    images: int = Field(gt=0)
    block_images: int = Field(default=BLOCK_IMAGES, gt=0)
    block_hash: str = "blake2b"
    block_digests: list[str]
    labels_digest: str
    source_digest: str = Field(description="of the folder that was packed and the way it was packed")
    left_out: list[LeftOut] = []
    annotations: dict[str, Annotation] = {}


@dataclass(frozen=True)
class Header:
    """The first page of a pack."""

    images: int
    meta_offset: int
    meta_length: int
    meta_digest: bytes

    def to_bytes(self) -> bytes:
        """The page, padded with zeros."""
        fields = (self.images, self.meta_offset, self.meta_length, self.meta_digest)
        return _HEADER.pack(_MAGIC, VERSION, 0, *fields).ljust(PAGE, b"\0")


def labels_offset(images: int) -> int:
    """Where the labels of a pack of so many images start."""
    return PAGE + images * IMAGE_BYTES


def block_range(block: int, images: int, block_images: int = BLOCK_IMAGES) -> range:
    """The rows of a block."""
    return range(block * block_images, min((block + 1) * block_images, images))


def read_meta(path: Path) -> tuple[PackMeta, Header]:
    """Read header and metadata, and verify them against each other and the file's length.

    Raises:
        BadPack: not a pack, another version, truncated or altered.
    """
    try:
        with path.open("rb") as file:
            header = _header(file.read(_HEADER.size), path)
            file.seek(header.meta_offset)
            text = file.read(header.meta_length)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise BadPack(f"{path}: the pack cannot be read ({error.strerror}).") from error
    wanted = header.meta_offset + header.meta_length
    if size < wanted:
        raise BadPack(
            f"{path}: the pack is truncated: {size} bytes instead of {wanted}. Copy or pack it again."
        )
    if size > wanted or digest_of(text) != header.meta_digest:
        raise BadPack(
            f"{path}: the pack was altered (its metadata does not fit its header). Copy or pack it again."
        )
    try:
        meta = PackMeta.model_validate_json(text)
    except ValidationError as error:
        raise BadPack(
            f"{path}: the pack's metadata is not of version {VERSION}. Pack the dataset again."
        ) from error
    _check_name(meta, path)
    _check_counts(meta, header, path)
    return meta, header


def verify_content(
    path: Path, meta: PackMeta, images: memoryview, labels: memoryview, threads: int | None = None
) -> None:
    """Compare all pixels and labels with their digests, in one thread a core.

    Raises:
        BadPack: names the file and the rows that differ.
    """
    if digest_of(labels).hex() != meta.labels_digest:
        raise BadPack(
            f"{path}: the pack was altered (its labels differ from their digest). Copy or pack it again."
        )

    try:
        digest = block_digest(meta.block_hash)
    except UnknownHash as error:
        raise BadPack(
            f"{path}: the pack cannot be verified without the hash {meta.block_hash}. Install the package of that name."
        ) from error

    def differs(block: int) -> bool:
        rows = block_range(block, meta.images, meta.block_images)
        found = digest(images[rows.start * IMAGE_BYTES : rows.stop * IMAGE_BYTES])
        return found.hex() != meta.block_digests[block]

    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        wrong = [block for block, bad in enumerate(pool.map(differs, range(len(meta.block_digests)))) if bad]
    if wrong:
        rows = block_range(wrong[0], meta.images, meta.block_images)
        found = f"images {rows.start} to {rows.stop - 1} differ from their digest"
        raise BadPack(f"{path}: the pack was altered ({found}). Copy or pack it again.")


def _header(data: bytes, path: Path) -> Header:
    if len(data) < _HEADER.size:
        raise BadPack(f"{path}: the pack is truncated: only {len(data)} bytes. Copy or pack it again.")
    magic, version, _, images, offset, length, digest = _HEADER.unpack(data)
    if magic != _MAGIC:
        raise BadPack(f"{path}: not an Anyshot pack. Make one with `anyshot data pack FOLDER`.")
    if version != VERSION:
        raise BadPack(
            f"{path}: a pack of version {version}; this kit reads {VERSION}. Pack the dataset again."
        )
    if length > MOST_META:
        raise BadPack(
            f"{path}: the pack's metadata would have {length} bytes; at most {MOST_META} are read. Pack it again."
        )
    return Header(images, offset, length, digest)


def _check_name(meta: PackMeta, path: Path) -> None:
    if not is_name(meta.name):
        raise BadPack(
            f"{path}: the name of the pack's dataset is not {NAME_WORDS}. Pack it again, with another dataset_name in "
            "info.json."
        )


def _check_counts(meta: PackMeta, header: Header, path: Path) -> None:
    blocks = -(-meta.images // meta.block_images)
    fits = (
        meta.images == header.images
        and header.meta_offset == labels_offset(meta.images) + 8 * meta.images
        and len(meta.block_digests) == blocks
        and len(meta.super_classes) == len(meta.classes)
    )
    if not fits:
        raise BadPack(f"{path}: the pack's numbers contradict each other. Pack the dataset again.")
