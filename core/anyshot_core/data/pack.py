"""A dataset as one memory-mapped file. Torch is not needed to read it."""

from __future__ import annotations

import mmap
import os
import weakref
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from anyshot_core.data.digests import digest_file
from anyshot_core.data.images import IMAGE_BYTES, IMAGE_SHAPE
from anyshot_core.data.layout import PAGE, SUFFIX, PackMeta, labels_offset, read_meta, verify_content
from anyshot_core.data.packing import pack_folder
from anyshot_core.data.problems import BadPack

_MOST_VECTORS = 512  # images read by one system call; Linux takes 1,024 buffers

__all__ = ["SUFFIX", "Pack", "pack_dataset"]


@dataclass(frozen=True)
class Pack:
    """An open pack.

    Attributes:
        images: read-only uint8 `[n, 3, 128, 128]`, mapped from the file.
        labels: read-only int64 `[n]`, numbers of classes.
    """

    path: Path
    meta: PackMeta = field(repr=False)
    content_digest: str
    images: np.ndarray = field(repr=False)
    labels: np.ndarray = field(repr=False)
    descriptor: int | None = field(default=None, repr=False)

    @classmethod
    def open(cls, path: str | os.PathLike[str], verify: bool = True, threads: int | None = None) -> Pack:
        """Map a pack; `verify` compares every byte with the digests that the file holds, in one thread a core.

        Raises:
            BadPack: not a pack, of another version, truncated or altered; the message names the file.
        """
        path = Path(path)
        meta, header = read_meta(path)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        mapping = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
        n, at = meta.images, labels_offset(meta.images)
        flat = np.frombuffer(mapping, dtype=np.uint8, count=n * IMAGE_BYTES, offset=PAGE)
        raw_labels = np.frombuffer(mapping, dtype="<i8", count=n, offset=at)
        try:
            if verify:
                verify_content(path, meta, flat.data, raw_labels.data.cast("B"), threads)
            labels = raw_labels.astype(np.int64)
            _check_labels(labels, meta, path)
        except BadPack:
            os.close(descriptor)
            raise
        labels.flags.writeable = False
        images = flat.reshape(n, *IMAGE_SHAPE)
        pack = cls(path, meta, header.meta_digest.hex(), images, labels, descriptor)
        weakref.finalize(pack, os.close, descriptor)
        return pack

    @property
    def name(self) -> str:
        """Name of the dataset."""
        return self.meta.name

    @property
    def domain(self) -> str:
        """Domain of the dataset, '' if unknown."""
        return self.meta.domain

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order of their numbers."""
        return tuple(self.meta.classes)

    @property
    def super_classes(self) -> tuple[str, ...]:
        """Super-class of each class, '' where it has none."""
        return tuple(self.meta.super_classes)

    @cached_property
    def annotations(self) -> dict[str, np.ndarray]:
        """Further columns of `labels.csv` by name: for each image the number of its value, int64 `[n]`."""
        return {name: column.decode() for name, column in self.meta.annotations.items()}

    def is_binary(self, annotation: str) -> bool:
        """Whether a column holds nothing but 0 and 1, and both."""
        return self.meta.annotations[annotation].values == ["0", "1"]

    @cached_property
    def digest(self) -> str:
        """sha256 of the file: its name in content-addressed storage. Reads the whole file once."""
        return digest_file(self.path)

    @cached_property
    def class_rows(self) -> tuple[np.ndarray, ...]:
        """Rows of each class in ascending order, int64 `[n_c]` each."""
        order = np.argsort(self.labels, kind="stable").astype(np.int64)
        ends = np.cumsum(np.bincount(self.labels, minlength=len(self.meta.classes)))
        return tuple(np.split(order, ends[:-1]))

    @cached_property
    def smallest_class(self) -> int:
        """Number of images of the class that has fewest."""
        return min(len(rows) for rows in self.class_rows)

    def read_rows(self, rows: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Read images from the file into `out`, uint8 `[at least n, 3, 128, 128]`, C-contiguous; returns its start.

        What is read does not stay mapped, so a process that streams a large pool stays small. Rows that lie side by
        side in the file are read by one call.
        """
        target = out[: len(rows)]
        if self.descriptor is None or len(rows) == 0:
            return np.take(self.images, rows, axis=0, out=target, mode="clip")
        places = memoryview(target.reshape(-1).data)
        order = np.argsort(rows, kind="stable")
        in_file = rows[order]
        ends = np.flatnonzero(np.diff(in_file, append=-1) != 1) + 1  # of runs that lie side by side
        offsets = (in_file * IMAGE_BYTES + PAGE).tolist()
        spans = [places[at : at + IMAGE_BYTES] for at in (order * IMAGE_BYTES).tolist()]
        start = 0
        for end in ends.tolist():
            for first in range(start, end, _MOST_VECTORS):
                self._read_into(spans[first : min(first + _MOST_VECTORS, end)], offsets[first])
            start = end
        return target

    def read_row(self, row: int, out: memoryview) -> None:
        """Read one image from the file into `out`, which has its 49,152 bytes."""
        if self.descriptor is None:
            out[:] = self.images[row].reshape(-1).data
        else:
            self._read_into([out], PAGE + row * IMAGE_BYTES)

    def _read_into(self, parts: list[memoryview], offset: int) -> None:
        assert self.descriptor is not None
        if os.preadv(self.descriptor, parts, offset) == len(parts) * IMAGE_BYTES:
            return
        for part in parts:  # interrupted by a signal, or the file was cut short under us
            if os.preadv(self.descriptor, [part], offset) != IMAGE_BYTES:
                raise BadPack(
                    f"{self.path}: the pack was truncated while it was read. Copy or pack it again."
                )
            offset += IMAGE_BYTES

    def __len__(self) -> int:
        """Number of images."""
        return self.meta.images


def pack_dataset(
    folder: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    skip_bad: bool = False,
    domain: str | None = None,
    convert: bool = False,
) -> Pack:
    """Pack one dataset folder and open the result; see `packing.pack_folder` for what may go wrong.

    `target` is the file to write, or a folder that gets `NAME.anyshot-pack`.
    """
    path = pack_folder(Path(folder), Path(target), skip_bad=skip_bad, domain=domain, convert=convert)
    return Pack.open(path, verify=False)


def _check_labels(labels: np.ndarray, meta: PackMeta, path: Path) -> None:
    counts = np.bincount(labels, minlength=len(meta.classes)) if labels.min() >= 0 else np.zeros(1)
    if len(counts) != len(meta.classes) or counts.min() < 1:
        raise BadPack(f"{path}: the pack's labels do not fit its {len(meta.classes)} classes. Pack it again.")
