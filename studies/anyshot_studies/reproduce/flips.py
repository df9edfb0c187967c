"""Conclusion flips against the number of novel classes, with the i.i.d. control."""

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.episodes import euclidean_scores
from anyshot_analysis.flips.novel_classes import ClassDraws, Method, flip_over_class_draws
from anyshot_analysis.pages import ReportPage, points
from anyshot_core.report.estimates import mean, share
from anyshot_studies.reproduce.draws import (
    draw_flips,
    estimates_of,
    flips_as_data,
    flips_as_table,
    list_flips,
)
from anyshot_studies.reproduce.material import WORDS, Material

SIZES = (5, 10, 20, 40, 80)
DRAWS, TASKS_A_DRAW = 1000, 40
SEED = 0  # one for all sizes: the lead on all classes is estimated once


def shortened(values: NDArray[np.floating], width: int = 48) -> NDArray[np.float32]:
    """The leading principal components `[n, width]`: distances of pixels at a ninth of the cost."""
    centred = values - values.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    return (centred @ axes[:width].T).astype(np.float32)


def make(material: Material) -> ReportPage:
    """Nearest class mean on the Conv-4's features and on pixels, over the classes of Set-1 and Set-2."""
    features = material.features(1, 2)
    pixels = shortened(np.asarray(material.pixel_features(1, 2).values))
    methods = (
        Method("Conv-4", features.values, euclidean_scores),
        Method("pixels", pixels, euclidean_scores),
    )

    def over_draws(size: int) -> ClassDraws:
        return flip_over_class_draws(
            features, methods, size, draws=DRAWS, tasks_a_draw=TASKS_A_DRAW, seed=SEED
        )

    found = [over_draws(size) for size in SIZES]
    # All classes in every draw: what is left varies with images and tasks alone.
    whole = over_draws(features.classes)
    control, noise = whole.flip, "other images and tasks, all classes in every draw"
    best = found[0]
    return ReportPage(
        name="reproduce-flips",
        title="Flips against the number of novel classes",
        finding=(
            f"{best.first} leads {best.second} by {points(best.lead)} points on all {features.classes} classes; on "
            f"{SIZES[0]} novel classes it loses in {found[0].flip:.1%} of draws, on {SIZES[-1]} in "
            f"{found[-1].flip:.1%}; "
            f"with all classes in every draw (only images and tasks vary) in {control:.1%}."
        ),
        population=f"other sets of novel classes of these {features.classes}; {DRAWS} draws of {TASKS_A_DRAW} tasks.",
        estimates=[
            *estimates_of(found, DRAWS, "novel classes"),
            mean(
                f"lead, all {features.classes} novel classes", whole.differences, "points", noise, scale=100
            ),
            share("flips by task noise alone", round(control * DRAWS), DRAWS, noise),
            share("exaggerations by task noise alone", round(whole.exaggeration * DRAWS), DRAWS, noise),
        ],
        charts=draw_flips(found, DRAWS, "novel classes"),
        listings=[list_flips(found, "novel classes")],
        notes=[
            WORDS,
            f"Each draw is judged by {TASKS_A_DRAW} tasks, so its difference carries the noise of the tasks as "
            "well; the last figure of the finding is the share of flips that this noise alone makes. Exaggerations: "
            f"{whole.exaggeration:.1%} by this noise alone, which is what the others are to be read beside.",
            f"A task mixes classes of the {len(set(features.datasets))} datasets of Set-1 and Set-2.",
            "Published: flips are frequent at few novel classes and fall with their number; methods "
            "and data there differ.",
        ],
        result={
            "control": control,
            "control_exaggeration": whole.exaggeration,
            "lead": best.lead,
            "draws": flips_as_data(found),
        },
        table=flips_as_table(found, DRAWS),
    )
