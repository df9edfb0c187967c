"""Participant's view: how alike the layers of two networks are, layer by layer, beside the chance level."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.jobs.ranges import held_within
from anyshot_analysis.pages import Cell, PageTable, ReportPage
from anyshot_analysis.representations import (
    Rows,
    Similarities,
    compare,
    convolution_rows,
    flatten_maps,
    pool_maps,
)
from anyshot_analysis.representations.chance import PermutationLevel
from anyshot_analysis.representations.jackknife import jackknife
from anyshot_analysis.undefined import Undefined, is_defined
from anyshot_core.charts import Bar, draw_bars, draw_heat_map
from anyshot_core.report.estimates import Estimate, around
from anyshot_core.report.storage import estimate_words
from anyshot_core.wire.messages import IMAGE_ARRAYS
from anyshot_core.wire.reports import Choices, Representations
from anyshot_core.words import number_words

FORMS: dict[str, Callable[[NDArray[np.floating]], Rows]] = {
    "positions": convolution_rows,
    "pooled": lambda maps: Rows(pool_maps(maps)),
    "flat": lambda maps: Rows(flatten_maps(maps)),
}
MEASURED = ("procrustes", "cca", "svcca", "pwcca")
MEASURED_AS = ("Procrustes distance", "mean CCA", "SVCCA", "PWCCA")
TITLES = ("CKA", "CKA at chance", "CKA, unbiased", "mean squared CCA", "mean squared CCA at chance")
IMAGES = "other images like these"
SIDES = {"x": "first file", "y": "second file"}
BLANK = "Blank pairs of layers have maps of other sizes, so other rows; with pooled maps all layers can be compared."


class Parameters(Representations):
    """How convolutional maps become rows: some positions of each image, averaged over positions, or flattened.

    `permutations` pairings of whole images give the chance levels that have no formula.
    """

    maps: Annotated[
        str,
        Field(
            description="How maps become rows: positions of each image, their mean (pooled), or all of them (flat)."
        ),
        Choices(("positions", "pooled", "flat")),
    ] = "positions"

    def model_post_init(self, context: object, /) -> None:
        if self.permutations < 20:
            raise BadAnalysis("at least 20 permutations: fewer give no range")
        if self.maps not in FORMS:
            raise BadAnalysis(f"maps is one of {', '.join(FORMS)}")


def read_layers(path: Path, maps: str) -> dict[str, Rows]:
    """Layers `[examples, ...]` of an .npz file, without pickles, as matrices; not what describes the images."""
    with np.load(path, allow_pickle=False) as stored:
        layers = {name: stored[name] for name in stored.files if not name.startswith(IMAGE_ARRAYS)}
    return {
        name: FORMS[maps](values) if values.ndim == 4 else Rows(values) for name, values in layers.items()
    }


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """All pairs of layers of the two files of `arrays`; equally named ones in full."""
    one_path, two_path = inputs.paths("arrays", 2, most=2)
    one, two = read_layers(one_path, parameters.maps), read_layers(two_path, parameters.maps)
    shared = [name for name in one if name in two]
    if not shared:
        raise BadAnalysis("the two files have no layer of the same name")
    done, total = 0, len(one) * len(two)
    grid: dict[tuple[str, str], Similarities] = {}
    for a, x in one.items():
        for b, y in two.items():
            if (len(x.values), x.positions) == (len(y.values), y.positions):
                asked = parameters.permutations if a == b else 0
                grid[a, b] = compare(x.values, y.values, x.positions, asked)
            done += 1
            progress("Comparing layers", done, total)
    estimates = [
        e for name in shared if (name, name) in grid for e in estimates_of(name, one[name], two[name])
    ]
    return describe(grid, shared, list(one), list(two), estimates)


def estimates_of(name: str, one: Rows, two: Rows) -> list[Estimate]:
    """CKA and Procrustes distance of a layer with intervals over other images."""
    found = jackknife(one.values, two.values, one.positions)
    return [
        Estimate(
            f"{measure} of {name}", value, value, "similarity" if measure == "CKA" else "distance", IMAGES
        )
        if isinstance(value, Undefined)
        else held_within(
            around(f"{measure} of {name}", value.value, value.half_width, value.unit, IMAGES), 0, 1
        )
        for measure, value in found.items()
    ]


def describe(
    grid: dict[tuple[str, str], Similarities],
    shared: list[str],
    one: list[str],
    two: list[str],
    estimates: list[Estimate],
) -> ReportPage:
    """Set the found figures on a page: finding, tables, charts and what they are of."""
    own = {name: grid[name, name] for name in shared if (name, name) in grid}
    if not own:
        raise BadAnalysis("layers of the same name hold different numbers of examples")
    similar = np.array([[number(grid[a, b].cka) if (a, b) in grid else np.nan for b in two] for a in one])
    away = {n: c.distances()["procrustes"] for n, c in own.items()}
    defined = [(n, d) for n, d in away.items() if not isinstance(d, Undefined)]
    names = ("cka", "cka_chance", "cka_unbiased", "cca_squared", "cca_squared_chance")
    rows = [
        [
            n,
            c.images,
            f"{c.images_a_column:.1f}",
            *[getattr(c, name) for name in names],
            SIDES.get(c.pwcca_side or "", ""),
        ]
        for n, c in own.items()
    ]
    by_chance = [
        [n, *[cell for name in MEASURED for cell in (getattr(c, name), *_range(c.chance.get(name)))]]
        for n, c in own.items()
    ]
    levels = {
        n: [level.low, level.high]
        for n, c in own.items()
        if isinstance(level := c.chance.get("procrustes"), PermutationLevel)
    }
    warnings = sorted({f"{name}: {w}" for name, c in own.items() for w in c.warnings})
    return ReportPage(
        name="representations",
        title="Layers compared",
        finding=finding_of(estimates, defined, levels),
        population=f"{IMAGES}; at chance, whole images of one network are paired with others of the other network.",
        estimates=estimates,
        charts=[
            draw_heat_map(
                similar,
                one,
                "Linear CKA of all pairs of layers",
                "CKA of row and column",
                columns=two,
                low=0,
                high=1,
            ),
            draw_bars(
                [
                    bar_of(estimates, "CKA", n, c.cka)
                    for n, c in own.items()
                    if not isinstance(c.cka, Undefined)
                ],
                "Linear CKA of layers of the same name",
                "Linear CKA",
                chance={n: [float(c.cka_chance)] * 2 for n, c in own.items() if is_defined(c.cka_chance)},
            ),
            draw_bars(
                [bar_of(estimates, "Procrustes", n, float(d)) for n, d in defined],
                "How far layers of the same name are apart",
                "Procrustes distance",
                chance=levels,
            ),
        ],
        listings=[
            PageTable(
                "Layers of the same name",
                ("layer", "images", "images a neuron", *TITLES, "PWCCA weights from"),
                rows,
            ),
            PageTable(
                "Beside 95 % of random pairings of the images",
                (
                    "layer",
                    *[word for name in MEASURED_AS for word in (name, f"{name}, chance, low", "high")],
                ),
                by_chance,
            ),
        ],
        notes=[*warnings, *([BLANK] if len(grid) < len(one) * len(two) else [])],
        result={name: c.to_dict() for name, c in own.items()},
        table={
            "first": [a for a, _ in grid],
            "second": [b for _, b in grid],
            "cka": [number(c.cka) for c in grid.values()],
            "procrustes": [number(c.procrustes) for c in grid.values()],
        },
    )


def finding_of(
    estimates: list[Estimate], distances: Sequence[tuple[str, float]], levels: Mapping[str, list[float]]
) -> str:
    """Which layer differs most, and by how much, beside the range of random pairings."""
    if not distances:
        return "No layer of the same name can be compared: the distances below say why."
    farthest = max(distances, key=lambda pair: pair[1])[0]
    own = next(one for one in estimates if one.name == f"Procrustes of {farthest}")
    most = f"Of {len(distances)} layers, {farthest} differs most: " if len(distances) > 1 else f"{farthest}: "
    found = estimate_words(own, unit=False)
    picked = ", which the choice of the farthest makes larger" if len(distances) > 1 else ""
    chance = ""
    if farthest in levels:
        low, high = map(number_words, levels[farthest])
        chance = f", and 95 % of random pairings of the images give {low} to {high}"
    return f"{most}its orthogonal Procrustes distance is {found}{picked}; 0 is equal up to rotation and scale{chance}."


def bar_of(estimates: list[Estimate], measure: str, layer: str, value: float) -> Bar:
    """The CKA or Procrustes distance of a layer, with half of its interval over images."""
    interval = next(one.interval for one in estimates if one.name == f"{measure} of {layer}")
    half = None if isinstance(interval, Undefined) else max(interval[1] - value, value - interval[0])
    return Bar(layer, value, half)


def _range(level: PermutationLevel | Undefined | None) -> list[Cell]:
    if isinstance(level, PermutationLevel):
        return [level.low, level.high]
    return [level or Undefined("CCA is undefined here")] * 2


def number(value: float | Undefined) -> float:
    """For charts, where an undefined cell stays empty."""
    return float("nan") if isinstance(value, Undefined) else value
