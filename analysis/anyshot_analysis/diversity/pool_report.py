"""Organizer's report before a phase: diversity of the pool, its floor, the heat map, overlap between phases."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from anyshot_analysis.backbones import make_backbone
from anyshot_analysis.diversity.coefficient import (
    MeanWithInterval,
    Pairing,
    diversity,
    diversity_pairs_as_independent,
    group_distances,
    nearest_pair,
    noise_floor,
)
from anyshot_analysis.diversity.pool import PoolDiversity, measure_pool
from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress, counter
from anyshot_analysis.jobs.options import BACKBONES, ProtocolDict, Weights
from anyshot_analysis.jobs.ranges import held_within
from anyshot_analysis.pages import PageTable, ReportPage
from anyshot_analysis.undefined import Undefined
from anyshot_core.charts import Chart, draw_distributions, draw_heat_map
from anyshot_core.data.overlap import SharedImages, find_shared_images
from anyshot_core.protocols import protocol_from_dict
from anyshot_core.report.estimates import Estimate, around
from anyshot_core.report.storage import estimate_words, percent_words
from anyshot_core.wire.reports import Choices, Diversity
from anyshot_core.words import count_of

OTHER_TASKS = "other tasks that this protocol draws from these datasets"
PROTOCOL = {"name": "fixed", "ways": 5, "shots": 10, "query": 10}
DISTANCES = {"task2vec": "Task2Vec distance", "cosine": "cosine distance of Fisher information"}
SHARED = "Images in both pools, by their digests"
DRAWN = ", and the draw of random weights has an error that is not in the interval"
MOST_TASKS = 30  # in the heat map of a single dataset


class Parameters(Diversity):
    """`overlap` looks for images of the meta-test pool that are in the meta-train pool too, by their digests.

    `weights` is a file of the operator's.
    """

    probe: Annotated[str, Field(description=f"Network that tasks are embedded by: {BACKBONES}.")] = "conv4"
    pixels: Annotated[
        int, Field(description="Side that images are shrunk to; by default what the network usually takes.")
    ] = 32
    weights: Weights = None
    distance: Annotated[
        str,
        Field(
            description="Of two tasks: task2vec as the papers' code computes it, or the plain cosine of their text."
        ),
        Choices(("task2vec", "cosine")),
    ] = "task2vec"
    overlap: Annotated[
        bool, Field(description="Look for images that are in both pools, by their digests.")
    ] = True
    protocol: ProtocolDict = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default_factory=lambda: dict(PROTOCOL)
    )

    def model_post_init(self, context: object, /) -> None:
        if self.tasks < 4 or self.floor_tasks < 2 or self.floor_tasks > self.tasks:
            raise BadAnalysis("needs at least 4 tasks, of which 2 for the floor")


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Embed the tasks of the meta-test pool, and of no other, and compare them."""
    pool = inputs.test_pool
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
    return describe(found, shared_images(inputs, parameters), parameters)


def shared_images(inputs: Inputs, parameters: Parameters) -> list[SharedImages] | Undefined:
    """Datasets of the two pools with images in common; undefined where there are no two pools."""
    if not parameters.overlap:
        return Undefined("not looked for")
    if not (inputs.files.get("meta_test") and inputs.files.get("meta_train")):
        return Undefined("one pool was given, so there is no other to share images with")
    return find_shared_images(inputs.test_pool, inputs.train_pool)


def describe(
    found: PoolDiversity, shared: list[SharedImages] | Undefined, parameters: Parameters
) -> ReportPage:
    """The page of measured distances."""
    coefficient, published = diversity(found.distances), diversity_pairs_as_independent(found.distances)
    floor, nearest = noise_floor(found.floor), nearest_pair(found.distances)
    names, between = group_distances(found.distances, found.datasets)
    pairs = np.triu_indices(len(found.distances), 1)
    share = float((found.distances[pairs] <= floor.mean).mean())
    distance = DISTANCES[parameters.distance]
    claims = [
        held_within(around("diversity", coefficient.mean, coefficient.half_width, distance, OTHER_TASKS), 0),
        held_within(
            around("floor", floor.mean, floor.half_width, distance, "other draws of one task's images"), 0
        ),
        below_floor(found, floor.mean, share),
    ]
    apart, once = (estimate_words(own, unit=False) for own in claims[:2])
    finding = (
        f"The {distance} of two tasks of this pool is {apart} on average; of two draws of one and the same task, the "
        f"floor, it is {once}. {percent_words(claims[2])} of the pairs are no further apart than the floor."
    )
    charts = [
        draw_distances(found, names, between, distance),
        draw_distributions(
            {"pairs of tasks": found.distances[pairs], "same task twice": found.floor},
            "Distances between tasks, and their floor",
            distance,
            unit="pairs",
        ),
    ]
    rows = shared_rows(shared)
    weights = "weights from a file" if parameters.weights else "random weights"
    return ReportPage(
        name="diversity",
        title="Diversity of the pool",
        finding=finding,
        population="other tasks that this protocol draws from these datasets; unit of resampling: the task.",
        estimates=claims,
        charts=charts,
        listings=[PageTable(SHARED, ("meta-test", "meta-train", "shared", "of"), rows)] if rows else [],
        notes=[
            f"Probe {parameters.probe} with {weights} at {parameters.pixels} pixels; distances of different probes do "
            f"not compare{DRAWN if parameters.weights is None else ''}. {count_of(len(found.distances), 'task')} were "
            f"drawn, {parameters.floor_tasks} of them twice.",
            "The floor: tasks whose classes were drawn once and their images twice. It differs by dataset, so a "
            "distance below it is no sign of shared data; shared images are found by their digests.",
            f"The papers' 95 % interval takes pairs as independent, which they are not: {published_words(published)}.",
            *shared_words(shared),
        ],
        result={
            "coefficient": coefficient.to_dict(),
            "pairs_as_independent": published.to_dict(),
            "floor": floor.to_dict(),
            "share_below_floor": share,
            "nearest": pair_data(nearest, found),
            "shared_images": shared if isinstance(shared, Undefined) else [asdict(row) for row in shared],
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


def draw_distances(
    found: PoolDiversity, names: list[str], between: NDArray[np.float64], distance: str
) -> Chart:
    """The heat map of a pool's datasets; of a single one that of its first tasks, as the paper's figures are."""
    if len(names) > 1:
        return draw_heat_map(
            between, names, "Distance between tasks, by dataset", f"mean {distance} of two tasks"
        )
    tasks = found.distances[:MOST_TASKS, :MOST_TASKS].copy()
    np.fill_diagonal(tasks, np.nan)
    numbers = [str(place) for place in range(1, len(tasks) + 1)]
    more = f", the first {MOST_TASKS}" if len(found.distances) > MOST_TASKS else ""
    return draw_heat_map(
        tasks, numbers, f"Distance between tasks of {names[0]}{more}", f"{distance} of two tasks"
    )


def below_floor(found: PoolDiversity, floor: float, share: float) -> Estimate:
    """How probably two tasks are no further apart than the floor; the interval over tasks ends at 0 and at 1."""
    near = (found.distances <= floor) & ~np.eye(len(found.distances), dtype=bool)
    half = diversity(near.astype(float)).half_width
    interval = half if isinstance(half, Undefined) else (max(0.0, share - half), min(1.0, share + half))
    return Estimate("pairs no further apart than the floor", share, interval, "probability", OTHER_TASKS)


def shared_rows(shared: list[SharedImages] | Undefined) -> list[list[Any]]:
    """A line for each pair of datasets that share images."""
    if isinstance(shared, Undefined):
        return []
    return [[row.first, row.second, row.shared, row.images] for row in shared]


def shared_words(shared: list[SharedImages] | Undefined) -> list[str]:
    """What the digests say, and what they cannot."""
    if isinstance(shared, Undefined):
        return [f"Images in both pools: {shared.reason}."]
    pairs = "1 pair of datasets shares" if len(shared) == 1 else f"{len(shared)} pairs of datasets share"
    found = f"{pairs} images" if shared else "No image is in both pools"
    return [f"{found}. Copies that were cropped, scaled or stored anew have other digests and are not found."]


def published_words(mean: MeanWithInterval) -> str:
    """Mean and half-width."""
    half = mean.half_width
    return f"{mean.mean:.4f}" if isinstance(half, Undefined) else f"{mean.mean:.4f} ± {half:.4f}"


def pair_data(pair: Pairing | Undefined, found: PoolDiversity) -> Any:
    """The same as plain data."""
    if isinstance(pair, Undefined):
        return pair
    tasks = [pair.first, pair.second]
    return {"tasks": tasks, "datasets": [found.datasets[t] for t in tasks], "distance": pair.distance}
