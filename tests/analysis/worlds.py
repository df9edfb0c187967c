"""Features with a known structure for tests: classes are points, images scatter around them."""

import numpy as np

from anyshot_analysis.features import Features


def make_features(
    classes: int = 12, images: int = 30, width: int = 16, noise: float = 1.0, datasets: int = 2, seed: int = 0
) -> Features:
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(classes), images)
    values = rng.normal(size=(classes, width))[labels] + noise * rng.normal(size=(classes * images, width))
    order = rng.permutation(len(labels))
    names = tuple(f"DATA_{c % datasets}" for c in range(classes))
    return Features(values[order], labels[order], names)
