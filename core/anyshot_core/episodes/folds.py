"""How a support set is cut into folds, so that a learner can be tested on labelled images that it has not learned."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

FOLDS = 5


def places_in_class(labels: ArrayLike) -> tuple[NDArray[np.int64], int]:
    """For each image its place among the images of its class `[n]`, and the size of the smallest class."""
    y = np.asarray(labels, dtype=np.int64)
    counts = np.bincount(y)
    order = np.argsort(y, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    places = np.empty(len(y), dtype=np.int64)
    places[order] = np.arange(len(y)) - np.repeat(starts, counts)
    return places, int(counts.min())


def class_folds(labels: ArrayLike) -> NDArray[np.int64] | None:
    """The fold of each image `[n]`, class-interleaved: image j of every class is in fold j mod k, k at most 5 and the
    size of the smallest class. None where a class has a single image, or there is a single class.
    """
    places, smallest = places_in_class(labels)
    if smallest < 2 or len(np.unique(labels)) < 2:
        return None
    return places % min(FOLDS, smallest)
