"""How different the datasets of a pool look to a learner, by the features that its run exported."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from anyshot_analysis.diversity.images import (
    GroupDistances,
    chance_range,
    group_distances,
    half_width,
    nearest,
)
from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.pages import Cell, PageTable, ReportPage
from anyshot_analysis.undefined import Undefined
from anyshot_core.charts import draw_heat_map
from anyshot_core.report.estimates import Estimate, around
from anyshot_core.report.storage import estimate_words
from anyshot_core.wire.messages import IMAGE_ARRAYS
from anyshot_core.wire.reports import FeatureDiversity

OUT = "features"  # what the kit's learners call the output of their backbone
OVER = "other datasets like these"
FEWEST = 100


class Parameters(FeatureDiversity):
    """`layer` by its name; empty for `features`, or the last one. `permutations` deal the images at random."""

    layer: Annotated[
        str, Field(description="Layer whose features count; by default `features`, or the last one.")
    ] = ""

    def model_post_init(self, context: object, /) -> None:
        if self.permutations < FEWEST:
            raise BadAnalysis(f"at least {FEWEST} permutations: fewer give no range")


@dataclass(frozen=True)
class LayerImages:
    """Images as a learner's layer shows them: features `[n, F]`, dataset (place in the pool) and class `[n]`."""

    layer: str
    features: NDArray[np.float64]
    dataset: NDArray[np.int64]
    classes: NDArray[np.int64]


def read_seen(path: Path, layer: str) -> LayerImages:
    """A layer of a `layers.npz`, maps as the mean over their places. Raises `BadAnalysis`."""
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    layers = [name for name in arrays if not name.startswith(IMAGE_ARRAYS)]
    missing = [name for name in ("image_dataset", "image_class") if name not in arrays]
    if missing or not layers:
        raise BadAnalysis(f"{path.name} lacks {', '.join(missing) or 'layers'}: it is no layers.npz of a run")
    chosen = layer or (OUT if OUT in layers else layers[-1])
    if chosen not in layers:
        raise BadAnalysis(f"{path.name} has no layer {chosen!r}; it has {', '.join(layers)}")
    values = np.asarray(arrays[chosen], np.float64)
    values = values.mean(axis=(2, 3)) if values.ndim == 4 else values
    if not len(values) == len(arrays["image_dataset"]) == len(arrays["image_class"]):
        raise BadAnalysis(f"{path.name} holds arrays of different lengths")
    if not np.isfinite(values).all():
        raise BadAnalysis(f"layer {chosen} of {path.name} holds a value that is no number")
    return LayerImages(chosen, values, arrays["image_dataset"], arrays["image_class"])


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Distances of the datasets of the file of `arrays`, and of the classes within each."""
    (path,) = inputs.paths("arrays", most=1)
    seen = read_seen(path, parameters.layer)
    found = group_distances(seen.features, seen.dataset)
    if isinstance(found, Undefined):
        raise BadAnalysis(f"the images are of too few datasets: {found.reason}")
    chance = chance_range(seen.features, seen.dataset, parameters.permutations, parameters.seed)
    progress("Comparing datasets", 1, 1)
    return describe(seen, found, chance, parameters)


def classes_apart(seen: LayerImages, dataset: int) -> float | Undefined:
    """How far apart the classes of a dataset are."""
    rows = seen.dataset == dataset
    found = group_distances(seen.features[rows], seen.classes[rows])
    return Undefined("fewer than two classes have two images") if isinstance(found, Undefined) else found.mean


def describe(
    seen: LayerImages, found: GroupDistances, chance: tuple[float, float], p: Parameters
) -> ReportPage:
    """Set the found figures on a page: finding, tables, charts and what they are of."""
    claim = mean_of(found, seen.layer)
    beyond = "more" if found.mean > chance[1] else "no more"
    names = [f"dataset {group + 1}" for group in found.groups]
    first, second = (f"dataset {group + 1}" for group in nearest(found))
    by_class = [classes_apart(seen, group) for group in found.groups]
    images = [int((seen.dataset == group).sum()) for group in found.groups]
    rows: list[list[Cell]] = [
        [name, count, float(within), apart]
        for name, count, within, apart in zip(names, images, found.within, by_class, strict=True)
    ]
    return ReportPage(
        name="feature-diversity",
        title="How different the datasets look to the learner",
        finding=f"In the layer {seen.layer} the cosine distance of two of {len(names)} datasets, beyond that within "
        f"them, is {estimate_words(claim, unit=False)} on average over datasets like these. On these very ones it is "
        f"{beyond} than with images dealt at random ({chance[0]:z.4f} to {chance[1]:z.4f}); "
        f"least apart are {first} and {second}.",
        population=f"{OVER}, seen by this learner; unit: the dataset.",
        estimates=[claim],
        charts=[
            draw_heat_map(
                found.between,
                names,
                "Distance of datasets beyond that within them",
                "cosine distance of row and column",
            )
        ],
        listings=[
            PageTable("Datasets", ("dataset", "images", "two of its images", "two of its classes"), rows)
        ],
        notes=[
            "Cosine distance of two images of different datasets, less that of two images of one: 0 on average where "
            "two datasets look alike to the learner, however few images there are, so it may be below 0. "
            "Classes likewise.",
            f"{p.permutations} times the images were dealt to the datasets at random, for the range of chance. "
            "Datasets are numbered as they stand in the pool.",
        ],
        result={
            "layer": seen.layer,
            "distance": found.mean,
            "chance": list(chance),
            "datasets": [group + 1 for group in found.groups],
            "between": found.between,
            "within": found.within,
            "classes": by_class,
        },
        table={"dataset": [group + 1 for group in found.groups], "images": images, "within": found.within},
    )


def mean_of(found: GroupDistances, layer: str) -> Estimate:
    """The mean distance with its interval over datasets."""
    half = half_width(found)
    name, unit = f"distance of two datasets in {layer}", "cosine distance"
    return (
        Estimate(name, found.mean, half, unit, OVER)
        if isinstance(half, Undefined)
        else around(name, found.mean, half, unit, OVER)
    )
