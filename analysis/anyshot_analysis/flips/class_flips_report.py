"""Conclusion flips between two methods over draws of novel classes, or of the base classes that they learn from."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field
from scipy import special

from anyshot_analysis.episodes import BadEpisodes
from anyshot_analysis.features import Features
from anyshot_analysis.flips.base_classes import flip_over_base_draws
from anyshot_analysis.flips.novel_classes import (
    FEWEST_DRAWS,
    ClassDraws,
    flip_over_class_draws,
    nearest_mean_methods,
)
from anyshot_analysis.flips.whitening import centre_and_normalise, moments, whiten_within
from anyshot_analysis.jobs.heads import features_of
from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.jobs.options import Backbone, Cache, Pixels, Query, Shots, Ways, Weights
from anyshot_analysis.pages import Cell, PageTable, ReportPage, points
from anyshot_analysis.undefined import Undefined, is_defined
from anyshot_core.charts import draw_curves, draw_distributions
from anyshot_core.report.estimates import Estimate, mean, share
from anyshot_core.report.storage import estimate_words, percent_words
from anyshot_core.wire.reports import Choices, Seed
from anyshot_scoring.summary import Group

CLASSES = ("novel", "base")
NOISE = "flips by task noise alone"
LEAD = "lead on all novel classes, on the tasks of the draws"
METHODS = {
    "novel": "euclidean: the nearest class mean of the features; cosine: the class mean of least angle, of the same "
    "features centred over all images. A task may mix the classes of several datasets.",
    "base": "Both learn from the drawn classes, in closed form, how to change the features, and then take the nearest "
    "class mean: whitened by the covariance within classes, or centred and brought to length 1. A task may mix the "
    "classes of several datasets.",
}
TASKS = {
    "novel": "Each draw has {} tasks of its own: their noise is in the differences, and with all classes in every draw "
    "it is all there is.",
    "base": "Every draw is tested on the same {} tasks, so that they add no noise; the lead on all base classes is of "
    "these tasks too, and has no interval.",
}


@dataclass(frozen=True)
class Parameters:
    """`classes` says what is drawn: novel classes that are tested on, or base classes of the meta-train packs."""

    classes: Annotated[
        str,
        Field(
            description="What is drawn: novel classes that are tested on, or base classes that are learned from."
        ),
        Choices(("novel", "base")),
    ] = "novel"
    sizes: Annotated[
        tuple[int, ...], Field(description="Numbers of classes to draw, separated by commas.")
    ] = (5, 10, 20)
    draws: Annotated[int, Field(description="Sets of classes that are drawn for each number.")] = FEWEST_DRAWS
    tasks: Annotated[
        int, Field(description="Tasks of each draw; few of them make flips by their noise alone.")
    ] = 40
    ways: Ways = 5
    shots: Shots = 5
    query: Query = 10
    backbone: Backbone = "conv4"
    pixels: Pixels = None
    weights: Weights = None
    cache: Cache = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        if self.classes not in CLASSES:
            raise BadAnalysis(f"classes is one of {', '.join(CLASSES)}")
        if self.draws < FEWEST_DRAWS:
            raise BadAnalysis(f"at least {FEWEST_DRAWS:,} draws: fewer carry points of noise")
        if not self.sizes or min(self.sizes) < self.ways:
            raise BadAnalysis(f"each of sizes is a number of classes, at least the {self.ways} ways")


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Draw sets of classes of each size; the same tasks for both methods."""
    p = parameters
    tested = features_of(inputs.test_pool, p.backbone, p.pixels, p.weights, p.cache, progress)
    over = tested
    if p.classes == "base":
        if not inputs.files.get("meta_train"):
            raise BadAnalysis("base classes are those of the meta-train packs: give them with --train")
        over = features_of(inputs.train_pool, p.backbone, p.pixels, p.weights, p.cache, progress)
    if max(p.sizes) > over.classes:
        raise BadAnalysis(f"sets of {max(p.sizes)} classes were asked for, there are {over.classes}")
    found = []
    try:
        for place, size in enumerate(p.sizes):
            found.append(draws_of(tested, over, size, p))
            progress("Drawing classes", place + 1, len(p.sizes))
    except BadEpisodes as error:
        raise BadAnalysis(str(error)) from error
    noise = noise_of(tested, over.classes, p) if p.classes == "novel" else None
    return describe(found, noise, over.classes, p)


def draws_of(tested: Features, over: Features, size: int, p: Parameters) -> ClassDraws:
    """Differences of two methods over sets of `size` classes."""
    if p.classes == "novel":
        return flip_over_class_draws(
            tested,
            nearest_mean_methods(tested),
            size,
            p.ways,
            p.shots,
            p.query,
            p.draws,
            p.tasks,
            seed=p.seed,
        )
    own = moments(over)
    methods = {
        "whitened": lambda classes: whiten_within(own, classes),
        "centred, unit length": lambda classes: centre_and_normalise(own, classes),
    }
    shape = (p.ways, p.shots, p.query)
    return flip_over_base_draws(
        methods, over.classes, tested, size, shape=shape, draws=p.draws, tasks=p.tasks, seed=p.seed
    )


def noise_of(tested: Features, classes: int, p: Parameters) -> ClassDraws:
    """The control: all classes in every draw, so that tasks and images alone vary."""
    return draws_of(tested, tested, classes, p)


def describe(found: list[ClassDraws], noise: ClassDraws | None, classes: int, p: Parameters) -> ReportPage:
    """Set the found figures on a page: finding, tables, charts and what they are of."""
    few, unit = found[0], f"{p.classes} classes"
    claims = {one.name: one for one in estimates_of(found, noise, p)}
    last = percent_words(claims[flips_name(found[-1], p)])
    most = f", with {found[-1].size} in {last}" if len(found) > 1 else ""
    control = f" Task noise alone flips {percent_words(claims[NOISE])}." if noise else ""
    again = f" on the tasks that say who leads, on others by {estimate_words(claims[LEAD])}" if noise else ""
    return ReportPage(
        name="class-flips",
        title=f"Flips against the number of {unit}",
        finding=f"On all {classes} {unit} {few.first} leads {few.second} by {points(few.lead)} points{again}; with "
        f"{few.size} of them the order flips in {percent_words(claims[flips_name(few, p)])} of draws{most}.{control}",
        population=f"other sets of {unit} out of these {classes}; {p.draws:,} draws of each number.",
        estimates=list(claims.values()),
        charts=[
            draw_curves(
                {
                    what: [
                        Group(d.size, *with_half(claims[f"{what}s, {d.size} {unit}"]), p.draws) for d in found
                    ]
                    for what in ("flip", "exaggeration")
                },
                f"Flips and exaggerations by number of {unit}",
                unit,
                "Probability",
            ),
            draw_distributions(
                {f"{d.size} classes": 100 * d.differences for d in found},
                "Differences over draws",
                "Difference (points)",
                unit="draws",
            ),
        ],
        listings=[
            PageTable(
                "Draws (leads and sd in points)",
                (
                    unit,
                    "lead on all",
                    "lead, mean",
                    "sd over draws",
                    "flip",
                    "flip of normal differences of this sd",
                    "exaggeration",
                ),
                [row(d) for d in found],
            )
        ],
        notes=[
            METHODS[p.classes],
            f"Exaggeration: {few.first} leads by over half a point more than on all {unit}. "
            f"{TASKS[p.classes].format(p.tasks)}",
        ],
        result={
            "classes": classes,
            "lead": few.lead,
            "draws": [{"size": d.size, "flip": d.flip, "exaggeration": d.exaggeration} for d in found],
            "task_noise": None if noise is None else {"flip": noise.flip, "exaggeration": noise.exaggeration},
        },
        table={
            "size": np.repeat([d.size for d in found], p.draws),
            "difference": np.concatenate([d.differences for d in found]),
        },
    )


def with_half(one: Estimate) -> tuple[float, float]:
    """A share and the longer half of its interval."""
    assert is_defined(one.value) and not isinstance(one.interval, Undefined)  # a thousand draws or more
    return one.value, max(one.interval[1] - one.value, one.value - one.interval[0])


def flips_name(found: ClassDraws, p: Parameters) -> str:
    """What the estimate of its flips is called."""
    return f"flips, {found.size} {p.classes} classes"


def row(found: ClassDraws) -> list[Cell]:
    """One number of classes, and what a normal around the lead on all classes would say."""
    sd = float(found.differences.std(ddof=1))
    normal: str | Undefined = Undefined("the draws do not differ")
    if sd > 0:
        normal = f"{special.ndtr(-found.lead / sd):.1%}"
    return [
        found.size,
        points(found.lead),
        points(float(found.differences.mean())),
        points(sd),
        f"{found.flip:.1%}",
        normal,
        f"{found.exaggeration:.1%}",
    ]


def estimates_of(found: list[ClassDraws], noise: ClassDraws | None, p: Parameters) -> list[Estimate]:
    """Flips and exaggerations with Wilson's intervals over draws."""
    over, made = f"other sets of {p.classes} classes out of these", []
    for d in found:
        made += [
            share(flips_name(d, p), round(d.flip * p.draws), p.draws, over),
            share(
                f"exaggerations, {d.size} {p.classes} classes", round(d.exaggeration * p.draws), p.draws, over
            ),
            mean(f"lead, {d.size} {p.classes} classes", d.differences, "points", over, scale=100),
        ]
    if noise:
        tasks = "other tasks and images, all classes in every draw"
        made.append(mean(LEAD, noise.differences, "points", tasks, scale=100))
        made.append(share(NOISE, round(noise.flip * p.draws), p.draws, tasks))
        made.append(
            share("exaggerations by task noise alone", round(noise.exaggeration * p.draws), p.draws, tasks)
        )
    return made
