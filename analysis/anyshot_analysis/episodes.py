"""Many balanced tasks at once on cached features, drawn and evaluated as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anyshot_analysis.features import Features

BLOCK_BYTES = 8 << 20


class BadEpisodes(ValueError):
    """The features cannot offer the tasks asked for."""


@dataclass(frozen=True)
class Episodes:
    """`tasks` tasks of `ways` classes: `classes` `[T, N]`, `support` rows `[T, N, k]`, `query` rows `[T, N, q]`."""

    classes: NDArray[np.int64]
    support: NDArray[np.int64]
    query: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.classes)

    def __getitem__(self, part: slice) -> Episodes:
        return Episodes(self.classes[part], self.support[part], self.query[part])

    @property
    def ways(self) -> int:
        return self.classes.shape[1]


def draw_classes(rng: np.random.Generator, classes: ArrayLike, ways: int, tasks: int) -> NDArray[np.int64]:
    """`[tasks, ways]`: ordered tuples of distinct ones of `classes`, uniform."""
    pool = np.asarray(classes, dtype=np.int64)
    if len(pool) < ways:
        raise BadEpisodes(f"{len(pool)} classes for {ways} ways")
    keys = rng.random((tasks, len(pool)))
    return pool[np.argsort(keys, axis=1)[:, :ways]]


def draw_rows(
    rng: np.random.Generator,
    rows: tuple[NDArray[np.int64], ...],
    classes: NDArray[np.int64],
    shots: int,
    query: int,
) -> Episodes:
    """Disjoint support and query rows for given class tuples: one permutation of each class a task."""
    sizes = np.array([len(r) for r in rows])
    if sizes[np.unique(classes)].min() < shots + query:
        raise BadEpisodes(f"a class has fewer than {shots} + {query} images")
    width = int(sizes.max())
    table = np.zeros((len(rows), width), dtype=np.int64)
    for number, own in enumerate(rows):
        table[number, : len(own)] = own
    flat = classes.reshape(-1)
    keys = rng.random((len(flat), width), dtype=np.float32)
    keys[np.arange(width) >= sizes[flat][:, None]] = 2.0  # places a small class does not have are never drawn
    order = np.argsort(keys, axis=1)[:, : shots + query]
    drawn = np.take_along_axis(table[flat], order, axis=1).reshape(*classes.shape, shots + query)
    return Episodes(classes, drawn[..., :shots], drawn[..., shots:])


def draw_episodes(
    features: Features,
    ways: int,
    shots: int,
    query: int,
    tasks: int,
    seed: int,
    classes: ArrayLike | None = None,
) -> Episodes:
    """Uniform tasks over `classes` (default all): support and query disjoint."""
    rng = np.random.default_rng(seed)
    chosen = np.arange(features.classes) if classes is None else np.asarray(classes, dtype=np.int64)
    return draw_rows(rng, features.class_rows, draw_classes(rng, chosen, ways, tasks), shots, query)


def draw_within_datasets(
    features: Features, ways: int, shots: int, query: int, tasks: int, seed: int
) -> Episodes:
    """Tasks whose classes come from one dataset each, datasets in turn; those with fewer classes are left out."""
    rng = np.random.default_rng(seed)
    names = [n for n in dict.fromkeys(features.datasets) if len(features.classes_of([n])) >= ways]
    if not names:
        raise BadEpisodes(f"no dataset has {ways} classes")
    shares = [len(range(i, tasks, len(names))) for i in range(len(names))]
    tuples = np.empty((tasks, ways), dtype=np.int64)
    for place, (name, share) in enumerate(zip(names, shares, strict=True)):
        tuples[place :: len(names)] = draw_classes(rng, features.classes_of([name]), ways, share)
    return draw_rows(rng, features.class_rows, tuples, shots, query)


Similarity = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]


def euclidean_scores(prototypes: NDArray[Any], queries: NDArray[Any]) -> NDArray[Any]:
    """Negative squared distance up to a term of the query: `[T, N, F]`, `[T, m, F]` to `[T, m, N]`."""
    return 2 * queries @ prototypes.transpose(0, 2, 1) - np.vecdot(prototypes, prototypes)[:, None, :]


def cosine_scores(prototypes: NDArray[Any], queries: NDArray[Any]) -> NDArray[Any]:
    """Inner product with normalised prototypes; the query's length does not change the order."""
    lengths = np.sqrt(np.vecdot(prototypes, prototypes))[..., None]
    return queries @ (prototypes / np.maximum(lengths, 1e-12)).transpose(0, 2, 1)


def blocks(episodes: Episodes, width: int, itemsize: int) -> Iterator[slice]:
    """Slices of tasks whose gathered features stay small."""
    each = (episodes.support[0].size + episodes.query[0].size) * width * itemsize
    step = max(1, BLOCK_BYTES // each)
    return (slice(start, start + step) for start in range(0, len(episodes), step))


def prototype_hits(
    values: NDArray[np.floating], episodes: Episodes, similarity: Similarity = euclidean_scores
) -> NDArray[np.float64]:
    """Share of queries right of each class, `[T, N]`, by nearest class mean on features `[n, F]`."""
    hits = np.empty(episodes.classes.shape)
    truth = np.repeat(np.arange(episodes.ways), episodes.query.shape[2])
    for part in blocks(episodes, values.shape[1], values.itemsize):
        own = episodes[part]
        prototypes = values[own.support].mean(axis=2)
        queries = values[own.query.reshape(len(own), -1)]
        right = similarity(prototypes, queries).argmax(axis=2) == truth
        hits[part] = right.reshape(len(own), own.ways, -1).mean(axis=2)
    return hits
