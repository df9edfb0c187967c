"""Organizer's report before a phase: diversity of the pool, its floor, the heat map, overlap between phases."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from anyshot_analysis.backbones import make_backbone
from anyshot_analysis.diversity.coefficient import (
    Pairing,
    diversity,
    diversity_pairs_as_independent,
    group_distances,
    nearest_pair,
    noise_floor,
)
from anyshot_analysis.diversity.pool import PoolDiversity, measure_pool
from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress, counter
from anyshot_analysis.pages import Listing, Report
from anyshot_analysis.undefined import Undefined
from anyshot_starting_kit.charts import draw_distributions, draw_heat_map
from anyshot_starting_kit.data.pool import Pool
from anyshot_starting_kit.protocols import protocol_from_dict

PROTOCOL = {"name": "fixed", "ways": 5, "shots": 10, "query": 10}


@dataclass(frozen=True)
class Parameters:
    """`overlap` adds the meta-train pool to look for tasks that two phases share.

    `weights` is a file of the operator's.
    """

    tasks: int = 60
    floor_tasks: int = 12
    probe: str = "conv4"
    pixels: int = 32
    weights: str | None = None
    distance: str = "task2vec"
    overlap: bool = True
    seed: int = 0
    protocol: dict[str, Any] = field(default_factory=lambda: dict(PROTOCOL))

    def __post_init__(self) -> None:
        if self.tasks < 4 or self.floor_tasks < 2 or self.floor_tasks > self.tasks:
            raise BadAnalysis("needs at least 4 tasks, of which 2 for the floor")


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> Report:
    """Embed the pool's tasks and compare them."""
    both = bool(parameters.overlap and inputs.files.get("meta_test") and inputs.files.get("meta_train"))
    pool = Pool([*inputs.test_pool, *inputs.train_pool]) if both else inputs.test_pool
    hidden = {pack.name for pack in inputs.test_pool}
    probe = make_backbone(
        parameters.probe, parameters.pixels, Path(parameters.weights) if parameters.weights else None
    )
    protocol = protocol_from_dict(parameters.protocol)
    protocol.check(pool)
    total = parameters.tasks + parameters.floor_tasks
    found = measure_pool(
        pool,
        protocol,
        probe,
        parameters.tasks,
        parameters.floor_tasks,
        parameters.seed,
        parameters.distance,
        counter(progress, "Embedding tasks", total),
    )
    phases = np.array(["meta-test" if name in hidden else "meta-train" for name in found.datasets])
    return describe(found, phases, parameters)


def describe(found: PoolDiversity, phases: np.ndarray, parameters: Parameters) -> Report:
    """The page of measured distances."""
    coefficient, published = diversity(found.distances), diversity_pairs_as_independent(found.distances)
    floor, nearest = noise_floor(found.floor), nearest_pair(found.distances)
    across = nearest_pair(found.distances, phases)
    names, between = group_distances(found.distances, found.datasets)
    pairs = np.triu_indices(len(found.distances), 1)
    share = float((found.distances[pairs] <= floor.mean).mean())
    half = coefficient.half_width
    width = f" ± {half:.4f}" if not isinstance(half, Undefined) else ""
    finding = (
        f"Two tasks of this pool are {coefficient.mean:.4f}{width} apart; two draws of one and the same task are "
        f"{floor.mean:.4f} apart. {share:.1%} of the pairs are no further apart than that floor."
    )
    charts = [
        draw_heat_map(
            between, names, "Distance between tasks, by dataset", "mean Task2Vec distance of two tasks"
        ),
        draw_distributions(
            {"pairs of tasks": found.distances[pairs], "same task twice": found.floor},
            "Distances between tasks, and their floor",
            "Distance",
        ),
    ]
    rows = [
        pair_row("nearest pair", nearest, found, floor.mean),
        pair_row("nearest across phases", across, found, floor.mean),
    ]
    weights = "weights from a file" if parameters.weights else "random weights"
    return Report(
        name="diversity",
        title="Diversity of the pool",
        finding=finding,
        population="other tasks that this protocol draws from these datasets; unit of resampling: the task.",
        charts=charts,
        listings=[Listing("Pairs to look at", ("what", "datasets", "distance", "verdict"), rows)],
        notes=[
            f"Probe {parameters.probe} with {weights} at {parameters.pixels} pixels; distances of different "
            f"probes do not "
            "compare. Published values use ImageNet weights and are not reproduced here.",
            "The floor is measured on halves of a task's images, so it is, if anything, too high.",
        ],
        result={
            "coefficient": coefficient.to_dict(),
            "pairs_as_independent": published.to_dict(),
            "floor": floor.to_dict(),
            "share_below_floor": share,
            "nearest": pair_data(nearest, found),
            "nearest_across_phases": pair_data(across, found),
            "datasets": names,
            "between_datasets": between,
            "tasks": len(found.distances),
        },
        table={
            "first": pairs[0],
            "second": pairs[1],
            "first_dataset": np.array(found.datasets)[pairs[0]],
            "second_dataset": np.array(found.datasets)[pairs[1]],
            "distance": found.distances[pairs],
        },
    )


def pair_row(what: str, pair: Pairing | Undefined, found: PoolDiversity, floor: float) -> list[Any]:
    """A line on two tasks that lie close together."""
    if isinstance(pair, Undefined):
        return [what, "", pair, ""]
    verdict = "below the floor: the same data?" if pair.distance < floor else "above the floor"
    return [what, f"{found.datasets[pair.first]}, {found.datasets[pair.second]}", pair.distance, verdict]


def pair_data(pair: Pairing | Undefined, found: PoolDiversity) -> Any:
    """The same as plain data."""
    if isinstance(pair, Undefined):
        return pair
    tasks = [pair.first, pair.second]
    return {"tasks": tasks, "datasets": [found.datasets[t] for t in tasks], "distance": pair.distance}
