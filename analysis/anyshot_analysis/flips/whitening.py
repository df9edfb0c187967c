"""Changes of features learned from base classes in closed form: what a reproduction trains a thousand times over."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.features import Features

Change = Callable[[NDArray[np.floating]], NDArray[np.floating]]


@dataclass(frozen=True)
class ClassMoments:
    """Images, means `[classes, F]` and scatter matrices `[classes, F, F]` of each class."""

    counts: NDArray[np.int64]
    means: NDArray[np.float64]
    scatters: NDArray[np.float64]


def moments(features: Features) -> ClassMoments:
    """Of every class, once; subsets of classes then cost a sum."""
    parts = [np.asarray(features.values[rows], np.float64) for rows in features.class_rows]
    means = np.stack([part.mean(axis=0) for part in parts])
    scatters = np.stack([(p - m).T @ (p - m) for p, m in zip(parts, means, strict=True)])
    return ClassMoments(np.array([len(p) for p in parts]), means, scatters)


def whiten_within(own: ClassMoments, classes: NDArray[np.int64], shrinkage: float = 0.1) -> Change:
    """Linear discriminant analysis without its last step: the covariance within classes becomes the identity.

    The covariance is pulled towards a multiple of the identity by `shrinkage` (0 none, 1 entirely).
    """
    total = own.scatters[classes].sum(axis=0) / own.counts[classes].sum()
    width = len(total)
    covariance = (1 - shrinkage) * total + shrinkage * np.trace(total) / width * np.eye(width)
    values, vectors = np.linalg.eigh(covariance)
    matrix = vectors / np.sqrt(np.maximum(values, 1e-12))
    return lambda rows: rows @ matrix


def centre_and_normalise(own: ClassMoments, classes: NDArray[np.int64]) -> Change:
    """Minus the mean of the classes, then unit length (Wang et al. 2019, *SimpleShot*)."""
    centre = own.means[classes].mean(axis=0)

    def change(rows: NDArray[np.floating]) -> NDArray[np.floating]:
        moved = rows - centre
        return moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-12)

    return change
