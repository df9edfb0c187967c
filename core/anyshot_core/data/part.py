"""A part of a pack as a pack of its own: some rows, and the classes that they are of."""

import os
from collections.abc import Collection
from pathlib import Path

import numpy as np

from anyshot_core.data.digests import block_digest, block_hash, digest_of
from anyshot_core.data.images import IMAGE_BYTES
from anyshot_core.data.layout import (
    BLOCK_IMAGES,
    Annotation,
    Header,
    PackMeta,
    block_range,
    labels_offset,
)
from anyshot_core.data.pack import Pack
from anyshot_core.data.problems import BadPack


def write_part(
    pack: Pack, rows: np.ndarray, target: Path, annotations: Collection[str] | None = None
) -> None:
    """Write the rows of a pack as a pack; classes without any row are gone, even their names.

    Args:
        rows: int64 `[n]`, distinct; the part has them in ascending order.
        annotations: the names of those that the part has; None for all.

    Raises:
        BadPack: there are no rows.
    """
    rows = np.sort(np.asarray(rows, dtype=np.int64))
    if len(rows) == 0:
        raise BadPack(f"{pack.path}: nothing of this dataset is left to train on.")
    kept, labels = np.unique(pack.labels[rows], return_inverse=True)
    name = block_hash()
    digest, digests = block_digest(name), []
    buffer = np.empty((BLOCK_IMAGES, *pack.images.shape[1:]), dtype=np.uint8)
    raw_labels = labels.astype("<i8").tobytes()
    with target.open("w+b") as file:
        file.seek(labels_offset(0))
        for block in range(-(-len(rows) // BLOCK_IMAGES)):
            chosen = block_range(block, len(rows))
            pixels = pack.read_rows(rows[chosen.start : chosen.stop], buffer)
            raw = pixels.reshape(-1, IMAGE_BYTES)
            file.write(raw.data)
            digests.append(digest(raw.data).hex())
        text = _meta(pack, rows, kept, name, digests, raw_labels, annotations).model_dump_json().encode()
        file.write(raw_labels + text)
        header = Header(len(rows), labels_offset(len(rows)) + len(raw_labels), len(text), digest_of(text))
        file.seek(0)
        file.write(header.to_bytes())
        file.flush()
        os.fsync(file.fileno())


def _meta(
    pack: Pack,
    rows: np.ndarray,
    kept: np.ndarray,
    hash_name: str,
    digests: list[str],
    labels: bytes,
    annotations: Collection[str] | None,
) -> PackMeta:
    values = {
        name: np.array(column.values)[column.decode()[rows]]
        for name, column in pack.meta.annotations.items()
        if annotations is None or name in annotations
    }
    return pack.meta.model_copy(
        update={
            "classes": [pack.classes[c] for c in kept],
            "super_classes": [pack.super_classes[c] for c in kept],
            "images": len(rows),
            "block_images": BLOCK_IMAGES,
            "block_hash": hash_name,
            "block_digests": digests,
            "labels_digest": digest_of(labels).hex(),
            "left_out": [],
            "annotations": {name: Annotation.of(cells.tolist()) for name, cells in values.items()},
        }
    )
