"""Fingerprints of images: a digest that is equal for equal pixels, and one that is close for images that look alike.

The second is the difference hash of N. Krawetz, "Kind of Like That" (2013): whether each cell of a small grey copy is
darker than its neighbour, here the one to the right and the one below. It survives compression, scaling, and changes
of brightness; it does not survive mirroring, rotation, or a crop.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from anyshot_core.data.images import SIDE
from anyshot_core.data.overlap import image_digests
from anyshot_core.data.pack import Pack

BYTES = 16  # of each of the two
NEAR_BITS = 6  # of 128 that may differ, and no more than one in eight of those that are set
LEAST_BITS = 16  # an image with fewer is a plain surface, which looks like any other
_COUNT = struct.Struct("<Q")
_GRID = 9
_ROWS = 32  # images that are hashed at a time
_PAIRS = 1 << 20  # pairs that are compared at a time
_GREY = np.array([0.299, 0.587, 0.114], np.float32)  # of red, green and blue, by ITU-R BT.601
_STEP = 2.0  # of 255: a neighbour that is brighter by less is as bright


@dataclass(frozen=True)
class Fingerprints:
    """Of the images of a dataset, in their order.

    Attributes:
        exact, alike: uint8 `[n, 16]`, the digest of the pixels and the difference hash.
        labels: int64 `[n]`, places in `classes`, the names of the classes.
    """

    exact: NDArray[np.uint8]
    alike: NDArray[np.uint8]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]

    def to_bytes(self) -> bytes:
        """36 bytes an image, and the names."""
        words = json.dumps(self.classes).encode()
        parts = (_COUNT.pack(len(self.labels)), self.exact.tobytes(), self.alike.tobytes())
        return b"".join((*parts, self.labels.astype("<i4").tobytes(), words))

    @classmethod
    def from_bytes(cls, content: bytes) -> Fingerprints:
        """What `to_bytes` wrote."""
        (count,) = _COUNT.unpack_from(content)
        hashes = np.frombuffer(content, np.uint8, 2 * count * BYTES, _COUNT.size).reshape(2, count, BYTES)
        end = _COUNT.size + hashes.size
        labels = np.frombuffer(content, "<i4", count, end).astype(np.int64)
        return cls(hashes[0], hashes[1], labels, tuple(json.loads(content[end + 4 * count :])))

    def only(self, rows: NDArray[np.int64]) -> Fingerprints:
        """Those of some rows."""
        return Fingerprints(self.exact[rows], self.alike[rows], self.labels[rows], self.classes)

    def name(self, row: int) -> str:
        """An image in words: “image 7 (cat)”, counted from 0."""
        return f"image {row} ({self.classes[self.labels[row]]})"


@dataclass(frozen=True)
class Overlap:
    """Images of one dataset that another has too, as rows of both: int64 `[k, 2]`, each image of the first once."""

    equal: NDArray[np.int64]
    near: NDArray[np.int64]  # looks alike, without those that are equal


def fingerprint(pack: Pack) -> Fingerprints:
    """Both fingerprints of each image of a pack. Reads each image once."""
    exact = [digest[:BYTES] for digest in image_digests(pack)]
    alike = [
        difference_hash(np.asarray(pack.images[start : start + _ROWS]))
        for start in range(0, len(pack), _ROWS)
    ]
    digests = np.frombuffer(b"".join(exact), np.uint8).reshape(-1, BYTES)
    return Fingerprints(digests, np.vstack(alike), pack.labels, pack.classes)


def difference_hash(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The difference hash of images uint8 `[n, 3, 128, 128]`: uint8 `[n, 16]`, 64 bits across and 64 bits down."""
    colours = _box() @ images.astype(np.float32) @ _box().T
    cells = np.tensordot(colours, _GREY, axes=([1], [0]))
    across = cells[:, :-1, 1:] - cells[:, :-1, :-1]
    down = cells[:, 1:, :-1] - cells[:, :-1, :-1]
    bits = np.stack([across, down], axis=1).reshape(len(images), -1) > _STEP
    return np.packbits(bits, axis=1)


@lru_cache(maxsize=1)
def _box() -> NDArray[np.float32]:
    """Means over ninths of a side, float32 `[9, 128]`: a pixel on the border counts for both sides in part."""
    edges = np.linspace(0, SIDE, _GRID + 1)
    starts = np.arange(SIDE)
    ends = np.minimum(edges[1:, None], starts + 1)
    covered = np.clip(ends - np.maximum(edges[:-1, None], starts), 0, 1)
    return (covered / covered.sum(axis=1, keepdims=True)).astype(np.float32)


def find_overlap(first: Fingerprints, second: Fingerprints) -> Overlap:
    """The images of the first that are in the second as well, and those that look like one of the second."""
    equal = _pairs(first.exact, second.exact)
    near = _near(first.alike, second.alike)
    return Overlap(equal, near[~np.isin(near[:, 0], equal[:, 0])])


def find_repeats(prints: Fingerprints) -> Overlap:
    """The images of a dataset that are in it twice, and those that look like an earlier one of it."""
    equal = _pairs(prints.exact, prints.exact)
    equal = equal[equal[:, 0] > equal[:, 1]]
    near = _near(prints.alike, prints.alike, earlier=True)
    return Overlap(equal, near[~np.isin(near[:, 0], equal[:, 0])])


def _pairs(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Rows of equal keys, `[k, 2]`."""
    keys = [np.ascontiguousarray(side).view(f"V{BYTES}").ravel() for side in (first, second)]
    known = {key: row for row, key in reversed(list(enumerate(keys[1].tolist())))}
    found = [(row, known[key]) for row, key in enumerate(keys[0].tolist()) if key in known]
    return np.array(found, np.int64).reshape(-1, 2)


def _near(first: NDArray[np.uint8], second: NDArray[np.uint8], *, earlier: bool = False) -> NDArray[np.int64]:
    """Rows of hashes that are close, `[k, 2]`, the closest of each row of the first; or the closest `earlier` row.

    Two hashes of eight parts that differ in at most seven bits agree in one part (Norouzi, Punjani and Fleet, "Fast
    search in Hamming space with multi-index hashing", CVPR 2012), so that few pairs have to be compared.
    """
    (rows, ones), (others, other_ones) = _telling(first), _telling(second)
    found = [np.empty((0, 3), np.int64)]
    for part in range(BYTES // 2):
        for one, other in _agreeing(ones[:, part], other_ones[:, part]):
            far = np.bitwise_count(ones[one] ^ other_ones[other]).sum(axis=1)
            set_bits = np.minimum(
                np.bitwise_count(ones[one]).sum(axis=1), np.bitwise_count(other_ones[other]).sum(axis=1)
            )
            close = (far <= NEAR_BITS) & (far * 8 <= set_bits)
            if earlier:
                close &= others[other] < rows[one]
            found.append(
                np.stack([rows[one[close]], far[close], others[other[close]]], axis=1).astype(np.int64)
            )
    pairs = np.unique(np.concatenate(found), axis=0)
    _, starts = np.unique(pairs[:, 0], return_index=True)
    return pairs[starts][:, [0, 2]]


def _telling(hashes: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
    """Rows of the hashes that say something, and their parts, uint16 `[k, 8]`."""
    parts = np.ascontiguousarray(hashes).view(np.uint16)
    return (rows := np.flatnonzero(np.bitwise_count(parts).sum(axis=1) >= LEAST_BITS)), parts[rows]


def _agreeing(
    first: NDArray[np.uint16], second: NDArray[np.uint16]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Places of equal values in both, about a million pairs at a time."""
    order = np.argsort(second, kind="stable")
    low = np.searchsorted(second[order], first, "left")
    counts = np.searchsorted(second[order], first, "right") - low
    ends = np.cumsum(counts)
    start = 0
    while start < len(first):
        before = ends[start] - counts[start]
        stop = max(int(np.searchsorted(ends, before + _PAIRS, "right")), start + 1)
        own = counts[start:stop]
        one = np.repeat(np.arange(start, stop), own)
        within = np.arange(own.sum()) - np.repeat(np.cumsum(own) - own, own)
        yield one, order[low[one] + within]
        start = stop
