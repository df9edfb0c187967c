"""Distances between Task2Vec embeddings."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Embeddings = NDArray[np.float64]
BLOCK_BYTES = 700 << 10  # of one temporary: stays in the second-level cache


class BadEmbedding(ValueError):
    """Embeddings are `[tasks, filters]`, finite, non-negative and not all zero."""


def check_embeddings(embeddings: ArrayLike) -> Embeddings:
    """`[tasks, filters]` in float64 without the filters that are zero in all tasks."""
    values = np.ascontiguousarray(embeddings, dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape:
        raise BadEmbedding(f"embeddings are [tasks, filters], found shape {values.shape}")
    if not np.isfinite(values).all() or (values < 0).any():
        raise BadEmbedding("a diagonal Fisher information is finite and not negative")
    if (values.sum(axis=1) == 0).any():
        raise BadEmbedding("the Fisher information of a task is zero in every filter")
    return np.ascontiguousarray(values[:, values.any(axis=0)])


def cosine_distances(embeddings: ArrayLike) -> NDArray[np.float64]:
    """`[tasks, tasks]`: one minus the cosine of the embeddings, as the diversity papers' text has it."""
    values = check_embeddings(embeddings)
    unit = values / np.linalg.norm(values, axis=1, keepdims=True)
    distances = np.clip(1.0 - unit @ unit.T, 0.0, 1.0)
    np.fill_diagonal(distances, 0.0)
    return distances


def task2vec_distances(embeddings: ArrayLike) -> NDArray[np.float64]:
    """`[tasks, tasks]`: one minus the cosine of F1/(F1+F2) and F2/(F1+F2), no epsilon added.

    What the papers' code computes and their numbers are (the text says plain cosine). A filter that is zero in both
    tasks says nothing about either and is left out of that pair. F2/(F1+F2) is divided out like its counterpart: as one
    minus that, nothing would be left of it where F1 outweighs F2 by far.
    """
    values = check_embeddings(embeddings)
    tasks, filters = values.shape
    distances = np.zeros((tasks, tasks))
    rows = max(1, BLOCK_BYTES // (8 * filters))
    zeros, buffers = bool((values == 0).any()), np.empty((2, rows, filters))
    for i in range(tasks - 1):
        for start in range(i + 1, tasks, rows):
            block = values[start : start + rows]
            distances[i, start : start + len(block)] = scaled_cosine(
                values[i], block, buffers[:, : len(block)], zeros
            )
    return distances + distances.T


def scaled_cosine(
    one: Embeddings, others: Embeddings, scratch: Embeddings, zeros: bool
) -> NDArray[np.float64]:
    """Distances of `one` `[filters]` from each of `others` `[rows, filters]`; `scratch` is `[2, rows, filters]`."""
    u, v = scratch
    np.add(one, others, out=v)
    if zeros:
        v[v == 0] = 1  # makes both shares zero, and a filter of zeros weighs nothing in the sums below
    np.divide(one, v, out=u)
    np.divide(others, v, out=v)
    cross = np.vecdot(u, v)
    lengths = np.sqrt(np.vecdot(u, u) * np.vecdot(v, v))
    cosine = np.divide(cross, lengths, out=np.zeros_like(cross), where=lengths > 0)
    return np.clip(1.0 - cosine, 0.0, 1.0)


DISTANCES: dict[str, Callable[[ArrayLike], NDArray[np.float64]]] = {
    "task2vec": task2vec_distances,
    "cosine": cosine_distances,
}
