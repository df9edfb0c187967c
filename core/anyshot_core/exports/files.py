"""The files of exports: NumPy archives without pickles. `docs/science/exports.md` describes them."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

SNAPSHOTS, LAYERS, ESTIMATES = "snapshots.npz", "layers.npz", "estimates.npz"
PROBABILITIES = "probabilities.npz"
FILES = (SNAPSHOTS, LAYERS, ESTIMATES, PROBABILITIES)
ON_PUBLIC_IMAGES = (LAYERS, PROBABILITIES)  # into which code can write the images that it sees
_MARKS = {
    "snapshots": "train_loss",
    "estimates": "k_fold",
    "probabilities": "probabilities",
}  # the array that tells what a file is


def array_role(path: Path) -> str:
    """What an .npz file holds: "snapshots", "estimates", "probabilities", or "arrays" for layers."""
    with np.load(path, allow_pickle=False) as stored:
        names = set(stored.files)
    return next((role for role, mark in _MARKS.items() if mark in names), "arrays")


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> Path:
    """Write arrays of numbers by name."""
    np.savez_compressed(path, allow_pickle=False, **arrays)
    return path
