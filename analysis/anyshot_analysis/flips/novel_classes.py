"""Conclusion flips between two methods over draws of novel classes, on cached features.

*In vs. Out of Distribution*, section 4: given that method 1 leads by eps on all classes C_L, how often does it lose on
random C_N of size m? The counting and the planning formula are `anyshot_scoring.reliability`'s.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anyshot_analysis.episodes import (
    BadEpisodes,
    Episodes,
    Similarity,
    cosine_scores,
    draw_episodes,
    draw_rows,
    euclidean_scores,
    prototype_hits,
)
from anyshot_analysis.features import Features
from anyshot_scoring.reliability import count_flips

FEWEST_DRAWS = 1000


@dataclass(frozen=True)
class Method:
    """A way to classify by prototypes: `values` are the features it sees, `[n, F]`."""

    name: str
    values: NDArray[np.floating]
    similarity: Similarity


def nearest_mean_methods(features: Features) -> tuple[Method, Method]:
    """Two methods on the same features: Euclidean distance, and the cosine of features centred over all images."""
    centred = features.values - features.values.mean(axis=0)
    return Method("euclidean", features.values, euclidean_scores), Method("cosine", centred, cosine_scores)


@dataclass(frozen=True)
class ClassDraws:
    """Accuracy differences (first minus second) on `[draws]` sets of `size` classes, and the lead on all classes."""

    first: str
    second: str
    lead: float
    size: int
    differences: NDArray[np.float64]
    tasks_a_draw: int
    flip: float
    exaggeration: float


def class_sets(rng: np.random.Generator, classes: ArrayLike, size: int, draws: int) -> NDArray[np.int64]:
    """`[draws, size]`: subsets of distinct classes, uniform."""
    pool = np.asarray(classes, dtype=np.int64)
    if not 2 <= size <= len(pool):
        raise BadEpisodes(f"subsets of {size} of {len(pool)} classes")
    return pool[np.argsort(rng.random((draws, len(pool)), dtype=np.float32), axis=1)[:, :size]]


def flip_over_class_draws(
    features: Features,
    methods: tuple[Method, Method],
    size: int,
    ways: int = 5,
    shots: int = 5,
    query: int = 10,
    draws: int = FEWEST_DRAWS,
    tasks_a_draw: int = 20,
    classes: ArrayLike | None = None,
    seed: int = 0,
    progress: Callable[[int], None] = lambda done: None,
) -> ClassDraws:
    """Draw class sets and tasks within them, the same for both methods, and count flips.

    The lead eps is measured on as many tasks over all `classes` (default: of the features); the method that leads there
    is `first`. Population: other sets of `size` classes out of these.
    """
    if draws < FEWEST_DRAWS:
        raise BadEpisodes(f"{draws} class draws are too few: the share of flips needs {FEWEST_DRAWS}")
    pool = np.arange(features.classes) if classes is None else np.asarray(classes, dtype=np.int64)
    first, second = methods
    overall = draw_episodes(features, ways, shots, query, max(2000, draws), seed + 1, pool)
    lead = float(difference(first, second, overall).mean())
    if lead < 0:
        first, second, lead = second, first, -lead
    rng = np.random.default_rng(seed)
    found = np.empty(draws)
    for start in range(0, draws, 500):
        sets = class_sets(rng, pool, size, min(500, draws - start))
        keys = rng.random((len(sets), tasks_a_draw, size), dtype=np.float32)
        places = np.argsort(keys, axis=2)[..., :ways]
        tuples = np.take_along_axis(np.repeat(sets[:, None], tasks_a_draw, axis=1), places, axis=2).reshape(
            -1, ways
        )
        episodes = draw_rows(rng, features.class_rows, tuples, shots, query)
        gaps = difference(first, second, episodes)
        found[start : start + len(sets)] = gaps.reshape(len(sets), tasks_a_draw).mean(axis=1)
        progress(len(sets))
    flip, exaggeration = count_flips(found, lead)
    return ClassDraws(first.name, second.name, lead, size, found, tasks_a_draw, flip, exaggeration)


def difference(first: Method, second: Method, episodes: Episodes) -> NDArray[np.float64]:
    """Accuracy of the first minus the second, `[tasks]`."""
    one = prototype_hits(first.values, episodes, first.similarity).mean(axis=1)
    return one - prototype_hits(second.values, episodes, second.similarity).mean(axis=1)
