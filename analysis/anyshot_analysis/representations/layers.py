"""Convolutional maps as matrices: the three ways the papers turn `[M, C, H, W]` into rows and columns."""

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Rows:
    """A layer as a matrix `[images * positions, neurons]`, image by image, each with the same `positions`."""

    values: NDArray[np.floating]
    positions: int = 1

    @property
    def images(self) -> int:
        """How many images: the examples that are independent of each other."""
        return len(self.values) // self.positions


def convolution_rows(
    maps: NDArray[np.floating], seed: int = 0, rows_a_column: int | None = ROWS_A_COLUMN
) -> Rows:
    """`[M, C, H, W]` to about `rows_a_column` C rows of C columns: P positions of each image, drawn by `seed`.

    P is as small as gives so many rows, and the same positions are taken of all images, so that images can be paired
    anew as a whole. Two layers are comparable only with the same rows: maps of one size and seed give the same ones.
    """
    images, channels, height, width = check_maps(maps).shape
    every = height * width
    wanted = every if rows_a_column is None else min(every, -(-rows_a_column * channels // images))
    chosen = np.sort(np.random.default_rng(seed).choice(every, wanted, replace=False))
    rows = maps.reshape(images, channels, every)[:, :, chosen].transpose(0, 2, 1)
    return Rows(rows.reshape(images * wanted, channels), wanted)


def pool_maps(maps: NDArray[np.floating]) -> NDArray[np.floating]:
    """`[M, C, H, W]` to `[M, C]`: the mean over positions."""
    return check_maps(maps).mean(axis=(2, 3))


def flatten_maps(maps: NDArray[np.floating]) -> NDArray[np.floating]:
    """`[M, C, H, W]` to `[M, CHW]`: every unit at every position a neuron."""
    return check_maps(maps).reshape(len(maps), -1)
