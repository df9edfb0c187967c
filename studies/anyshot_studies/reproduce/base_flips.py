"""Conclusion flips against the number of base classes."""

from anyshot_analysis.flips.base_classes import flip_over_base_draws
from anyshot_analysis.flips.whitening import centre_and_normalise, moments, whiten_within
from anyshot_analysis.pages import ReportPage, points
from anyshot_studies.reproduce.draws import (
    draw_flips,
    estimates_of,
    flips_as_data,
    flips_as_table,
    list_flips,
)
from anyshot_studies.reproduce.material import WORDS, Material

SIZES = (5, 10, 20, 40, 80)
DRAWS, TASKS = 1000, 150


def make(material: Material) -> ReportPage:
    """Two changes of features learned from Set-0's classes, judged on tasks of Set-1 and Set-2."""
    base, novel = material.features(0), material.features(1, 2)
    own = moments(base)
    methods = {
        "whitened": lambda classes: whiten_within(own, classes),
        "centred, unit length": lambda classes: centre_and_normalise(own, classes),
    }
    found = [
        flip_over_base_draws(methods, base.classes, novel, size, draws=DRAWS, tasks=TASKS, seed=0)
        for size in SIZES
    ]
    few, many = found[0], found[-1]
    return ReportPage(
        name="reproduce-base-flips",
        title="Flips against the number of base classes",
        finding=(
            f"Learned from all {base.classes} base classes, {many.first} leads {many.second} by {points(many.lead)} "
            f"points; learned from {few.size} it loses in {few.flip:.1%} of draws, from {many.size} in {many.flip:.1%}."
        ),
        population=f"other sets of base classes out of these {base.classes}; {DRAWS} draws a number, "
        f"each contained in those of more classes; the same {TASKS} tasks always.",
        estimates=estimates_of(found, DRAWS, "base classes"),
        charts=draw_flips(found, DRAWS, "base classes"),
        listings=[list_flips(found, "base classes")],
        notes=[
            WORDS,
            "Reduced: the backbone saw all base classes; only what is learned on its features (a covariance, a mean) "
            "is learned from each draw, in closed form. The papers train whole networks, a few times a point.",
        ],
        result={
            "lead": many.lead,
            "draws": flips_as_data(found),
        },
        table=flips_as_table(found, DRAWS),
    )
