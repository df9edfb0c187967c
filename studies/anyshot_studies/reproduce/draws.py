"""What reports on flips over draws of classes have in common."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshot_analysis.flips.novel_classes import ClassDraws
from anyshot_analysis.pages import PageTable, points
from anyshot_core.charts import Chart, draw_curves, draw_distributions
from anyshot_core.report.estimates import Estimate, mean, share
from anyshot_scoring.summary import Group


def draw_flips(found: Sequence[ClassDraws], draws: int, unit: str) -> list[Chart]:
    """Flips and exaggerations by the number of classes, and how the differences spread; `unit` as in "base classes"."""
    curves = {
        "flip": [Group(d.size, d.flip, None, draws) for d in found],
        "exaggeration": [Group(d.size, d.exaggeration, None, draws) for d in found],
    }
    return [
        draw_curves(
            curves, f"Flips and exaggerations by number of {unit}", unit, "Probability", intervals=False
        ),
        draw_distributions(
            {f"{d.size} classes": 100 * d.differences for d in found},
            "Differences over class draws",
            "Difference (points)",
            unit="draws",
        ),
    ]


def list_flips(found: Sequence[ClassDraws], unit: str) -> PageTable:
    """A row for each number of classes."""
    rows = [
        [
            d.size,
            points(d.lead),
            points(float(d.differences.std(ddof=1))),
            f"{d.flip:.1%}",
            f"{d.exaggeration:.1%}",
        ]
        for d in found
    ]
    return PageTable("Class draws (points)", (unit, "lead", "sd over draws", "flip", "exaggeration"), rows)


def flips_as_data(found: Sequence[ClassDraws]) -> list[dict[str, Any]]:
    """The figures for JSON."""
    return [{"size": d.size, "flip": d.flip, "exaggeration": d.exaggeration} for d in found]


def flips_as_table(found: Sequence[ClassDraws], draws: int) -> dict[str, Any]:
    """One row a draw."""
    return {
        "size": np.repeat([d.size for d in found], draws),
        "difference": np.concatenate([d.differences for d in found]),
    }


def estimates_of(found: Sequence[ClassDraws], draws: int, unit: str) -> list[Estimate]:
    """Flips and exaggerations by the number of classes with Wilson's intervals over draws, and the lead on them."""
    over, made = f"other sets of {unit} out of these", []
    for one in found:
        made += [
            share(f"flips, {one.size} {unit}", round(one.flip * draws), draws, over),
            share(f"exaggerations, {one.size} {unit}", round(one.exaggeration * draws), draws, over),
            mean(f"lead, {one.size} {unit}", one.differences, "points", over, scale=100),
        ]
    return made
