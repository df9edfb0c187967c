"""Convolutional maps as matrices: the three ways the papers turn `[M, C, H, W]` into rows and columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ROWS_A_COLUMN = 20


class BadMaps(ValueError):
    """The activations are not `[images, channels, height, width]`."""


def check_maps(maps: NDArray[np.floating]) -> NDArray[np.floating]:
    """Four dimensions, none empty."""
    if maps.ndim != 4 or 0 in maps.shape:
        raise BadMaps(f"convolutional maps are [images, channels, height, width], found {maps.shape}")
    return maps


def convolution_rows(
    maps: NDArray[np.floating], seed: int = 0, rows_a_column: int | None = ROWS_A_COLUMN
) -> NDArray[np.floating]:
    """`[M, C, H, W]` to `[min(M H W, rows_a_column C), C]`: every position an example, rows drawn by `seed`.

    Two layers are comparable only with the same rows: same maps' size and seed give the same ones.
    """
    images, channels, height, width = check_maps(maps).shape
    rows = maps.transpose(0, 2, 3, 1).reshape(images * height * width, channels)
    wanted = len(rows) if rows_a_column is None else min(len(rows), rows_a_column * channels)
    if wanted == len(rows):
        return rows
    chosen = np.random.default_rng(seed).choice(len(rows), wanted, replace=False)
    return rows[np.sort(chosen)]


def pool_maps(maps: NDArray[np.floating]) -> NDArray[np.floating]:
    """`[M, C, H, W]` to `[M, C]`: the mean over positions."""
    return check_maps(maps).mean(axis=(2, 3))


def flatten_maps(maps: NDArray[np.floating]) -> NDArray[np.floating]:
    """`[M, C, H, W]` to `[M, CHW]`: every unit at every position a neuron."""
    return check_maps(maps).reshape(len(maps), -1)
