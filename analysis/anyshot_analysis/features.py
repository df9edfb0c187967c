"""Features of a pool: extracted once, then read from a memory-mapped file.

One file a pack and backbone, named by the digest of the pack's content and of the backbone's weights and input
size, so
a changed image or weight can never meet an old feature.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.nn import functional

from anyshot_core.data.pack import Pack
from anyshot_core.data.pool import Pool

BATCH = 32
FORMAT = 1


class BadFeatures(ValueError):
    """Features and labels that do not fit one another."""


@dataclass(frozen=True)
class FrozenBackbone:
    """A frozen feature extractor: `network` maps float images `[b, 3, pixels, pixels]` to `[b, features]`.

    `mean` and `std` (per channel) normalise images in [0, 1] before it.
    """

    network: nn.Module = field(repr=False)
    pixels: int = 84
    mean: tuple[float, float, float] = (0.5, 0.5, 0.5)
    std: tuple[float, float, float] = (0.25, 0.25, 0.25)

    @cached_property
    def digest(self) -> str:
        """sha256 over architecture, weights, input size and normalisation."""
        content = hashlib.sha256(f"{FORMAT} {self.pixels} {self.mean} {self.std} {self.network}".encode())
        for name, value in self.network.state_dict().items():
            content.update(f"{name} {tuple(value.shape)}".encode())
            content.update(value.detach().cpu().contiguous().numpy().tobytes())
        return content.hexdigest()

    def prepare(self, images: NDArray[np.uint8]) -> Tensor:
        """uint8 `[b, 3, h, w]` to normalised float32 `[b, 3, pixels, pixels]`."""
        floats = torch.from_numpy(np.array(images)).float()  # a copy: maps are read-only
        if floats.shape[-1] != self.pixels:
            floats = functional.interpolate(floats, size=self.pixels, mode="bilinear", antialias=True)
        mean, std = torch.tensor(self.mean)[:, None, None], torch.tensor(self.std)[:, None, None]
        return floats.sub_(255 * mean).div_(255 * std)

    def extract(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Features `[b, F]` of one batch; the network is in eval mode."""
        with torch.inference_mode():
            return self.network(self.prepare(images)).numpy()


@dataclass(frozen=True)
class Features:
    """Features of many images with class numbers that run over all datasets.

    `values` float `[n, F]`; `labels` int64 `[n]` in `[0, classes)`; `datasets` names, one a class.
    """

    values: NDArray[np.floating]
    labels: NDArray[np.int64]
    datasets: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.labels.shape != (len(self.values),):
            raise BadFeatures(f"features {self.values.shape} and labels {self.labels.shape} do not fit")
        counts = np.bincount(self.labels, minlength=len(self.datasets))
        if len(counts) != len(self.datasets) or (counts == 0).any():
            raise BadFeatures("every class needs an image and the name of its dataset")

    @property
    def classes(self) -> int:
        return len(self.datasets)

    @cached_property
    def class_rows(self) -> tuple[NDArray[np.int64], ...]:
        """Rows of each class, ascending."""
        order = np.argsort(self.labels, kind="stable")
        return tuple(np.split(order, np.cumsum(np.bincount(self.labels, minlength=self.classes))[:-1]))

    def classes_of(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Numbers of the classes of some datasets."""
        return np.flatnonzero(np.isin(self.datasets, list(names)))

    def restricted(self, classes: ArrayLike) -> Features:
        """The features of some classes only, renumbered in their order."""
        chosen = np.asarray(classes, dtype=np.int64)
        if not len(chosen):  # a side of a split may be empty; whatever draws from it says so
            return Features(np.asarray(self.values[:0]), self.labels[:0], ())
        rows = np.concatenate([self.class_rows[c] for c in chosen])
        labels = np.repeat(np.arange(len(chosen)), [len(self.class_rows[c]) for c in chosen])
        return Features(np.asarray(self.values[rows]), labels, tuple(self.datasets[c] for c in chosen))


def cache_path(folder: Path, pack: Pack, backbone: FrozenBackbone) -> Path:
    """Where the features of a pack lie."""
    return folder / f"{pack.content_digest[:24]}-{backbone.digest[:24]}.npy"


def extract_pack(
    pack: Pack,
    backbone: FrozenBackbone,
    folder: Path,
    progress: Callable[[int], None] = lambda done: None,
    batch: int = BATCH,
) -> NDArray[np.float32]:
    """The features `[n, F]` of a pack as a read-only map; computed if the cache lacks them.

    Written under another name and renamed when whole, so that an interrupted run leaves nothing that could be
    taken for a
    cache. `progress` gets the number of images just done.
    """
    path = cache_path(folder, pack, backbone)
    if path.exists():
        progress(len(pack))
        return np.load(path, mmap_mode="r")
    folder.mkdir(parents=True, exist_ok=True)
    backbone.network.eval()
    partial = path.with_suffix(f".{os.getpid()}.partial")
    stored: np.memmap | None = None
    try:
        for start in range(0, len(pack), batch):
            found = backbone.extract(pack.images[start : start + batch])
            if stored is None:
                shape = (len(pack), found.shape[1])
                stored = np.lib.format.open_memmap(partial, mode="w+", dtype=np.float32, shape=shape)
            stored[start : start + len(found)] = found
            progress(len(found))
        assert stored is not None  # a pack has at least one image
        stored.flush()
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return np.load(path, mmap_mode="r")


def extract_pool(
    pool: Pool, backbone: FrozenBackbone, folder: Path, progress: Callable[[int], None] = lambda done: None
) -> Features:
    """The features of a pool; classes are numbered dataset after dataset."""
    values = [extract_pack(pack, backbone, folder, progress) for pack in pool]
    starts = np.cumsum([0] + [len(pack.classes) for pack in pool])
    labels = np.concatenate([pack.labels + start for pack, start in zip(pool, starts[:-1], strict=True)])
    names = tuple(pack.name for pack in pool for _ in pack.classes)
    whole = values[0] if len(values) == 1 else np.concatenate(values)
    return Features(whole, labels, names)
