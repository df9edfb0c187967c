"""Classes, images and writers divided once and for all: splits depend on a seed of their own, never on a task."""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from anyshot_core.data.pack import Pack
from anyshot_core.protocols.draws import Draws
from anyshot_core.protocols.keys import Seed
from anyshot_core.protocols.task import ProtocolError

PARTS = ("meta_train", "meta_valid", "meta_test")
# NeurIPS'21: halves in the competition, 70 / 15 / 15 per cent in the later paper's experiments; 64, 16 and 20 of 100
# classes are those of miniImageNet and CIFAR-FS.
CLASS_SPLITS: dict[str, tuple[float, ...]] = {
    "halves": (0.5, 0.0, 0.5),
    "70/15/15": (0.70, 0.15, 0.15),
    "64/16/20": (0.64, 0.16, 0.20),
}


def cut(order: np.ndarray, shares: Sequence[float]) -> list[np.ndarray]:
    """Divide an order into parts proportional to `shares`; bounds are rounded half up, the last part gets the rest."""
    total = sum(shares)
    if min(shares) < 0 or total <= 0:
        raise ProtocolError(f"Shares must not be negative and not all zero; found {list(shares)}.")
    bounds = [int(len(order) * share / total + 0.5 + 1e-9) for share in accumulate(shares)]
    return np.split(order, bounds[:-1])


def split_classes(pack: Pack, shares: Sequence[float], split_seed: Seed) -> list[np.ndarray]:
    """Class numbers of each part, in ascending order; a function of the dataset's name, its class count and the
    seed.
    """
    order = Draws("classes", split_seed, pack.name).permutation(len(pack.classes))
    return [np.sort(part) for part in cut(order, shares)]


def hold_back(pack: Pack, c: int, share: float, split_seed: Seed) -> tuple[np.ndarray, np.ndarray]:
    """Rows of class `c` to train on, and the share of them that is held back; both in ascending order."""
    rows = pack.class_rows[c]
    order = rows[Draws("images", split_seed, pack.name, c).permutation(len(rows))]
    trained, held = cut(order, (1.0 - share, share))
    return np.sort(trained), np.sort(held)


def split_writers(count: int, sizes: Sequence[float], split_seed: Seed) -> list[np.ndarray]:
    """Numbers of the writers in each part, proportional to `sizes`."""
    return [np.sort(part) for part in cut(Draws("writers", split_seed).permutation(count), sizes)]


def require_part(part: str, allowed: Sequence[str]) -> None:
    """Raise unless `part` is one of those allowed."""
    if part not in allowed:
        raise ProtocolError(f"part must be one of {', '.join(allowed)}; found {part!r}.")
