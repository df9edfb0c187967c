"""Diversity of a pool's tasks: embeddings of tasks as a protocol draws them, and the floor beneath."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.diversity.distance import DISTANCES
from anyshot_analysis.diversity.task2vec import embed_task
from anyshot_analysis.features import FrozenBackbone
from anyshot_core.data.pool import Pool
from anyshot_core.protocols.draws import Draws
from anyshot_core.protocols.task import Protocol, TaskSpec, deal


@dataclass(frozen=True)
class PoolDiversity:
    """`distances` `[tasks, tasks]`.

    `datasets` the name of each task's dataset; `floor` distances of repeated draws.
    """

    distances: NDArray[np.float64]
    datasets: tuple[str, ...]
    floor: NDArray[np.float64]


def embed_spec(pool: Pool, spec: TaskSpec, probe: FrozenBackbone) -> NDArray[np.float64]:
    """Embedding of one task, support and query merged, as the papers have it."""
    images = probe.prepare(pool[spec.dataset].images[spec.rows])
    return embed_task(probe.network, images, np.concatenate([spec.support_labels, spec.query_labels]))


def halves(pool: Pool, spec: TaskSpec, seed: int) -> tuple[TaskSpec, TaskSpec]:
    """Two draws of one task: the same classes, images that share none, as many as the classes allow."""
    pack = pool[spec.dataset]
    rows = [
        Draws("floor", seed, spec.index, int(c)).pick(pack.class_rows[c], len(pack.class_rows[c]))
        for c in spec.classes
    ]
    size = min(min(map(len, rows)) // 2, len(spec.rows) // spec.ways)
    parts = [[r[:size] for r in rows], [r[size : 2 * size] for r in rows]]
    draws = Draws("floor order", seed, spec.index)
    first, second = (deal(draws, spec.index, spec.dataset, spec.classes, p, 1, size - 1) for p in parts)
    return first, second


def measure_pool(
    pool: Pool,
    protocol: Protocol,
    probe: FrozenBackbone,
    tasks: int,
    floor_tasks: int,
    seed: int,
    distance: str = "task2vec",
    progress: Callable[[int], None] = lambda done: None,
) -> PoolDiversity:
    """Embed `tasks` tasks and `floor_tasks` pairs of halves; calls `progress` once an embedding.

    The halves hold fewer images than a task, so their distances lie, if anything, above the floor of whole tasks.
    """
    specs = [protocol.task(pool, seed, index) for index in range(tasks)]
    embeddings = []
    for spec in specs:
        embeddings.append(embed_spec(pool, spec, probe))
        progress(1)
    measure, floor = DISTANCES[distance], []
    for spec in specs[:floor_tasks]:
        pair = np.stack([embed_spec(pool, half, probe) for half in halves(pool, spec, seed)])
        floor.append(measure(pair)[0, 1])
        progress(1)
    names = tuple(pool[spec.dataset].name for spec in specs)
    return PoolDiversity(measure(np.stack(embeddings)), names, np.asarray(floor))
