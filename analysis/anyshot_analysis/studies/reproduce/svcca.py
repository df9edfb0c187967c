"""SVCCA's pathology: with few examples a neuron, independent layers look alike, and adding noise neurons helps."""

from __future__ import annotations

import numpy as np

from anyshot_analysis.pages import PageTable, ReportPage
from anyshot_analysis.representations import Comparison, compare
from anyshot_analysis.studies.reproduce.material import Material
from anyshot_analysis.undefined import require
from anyshot_core.charts import draw_curves
from anyshot_scoring.summary import Group

WIDTH = 64
RATIOS = (1, 2, 3, 5, 10, 20, 50)
NAMES = ("cka", "svcca", "pwcca", "cca")


def independent(ratio: int, seed: int = 0) -> Comparison:
    """Two independent Gaussian layers with `ratio` examples a neuron."""
    rng = np.random.default_rng([seed, ratio])
    return compare(rng.normal(size=(ratio * WIDTH, WIDTH)), rng.normal(size=(ratio * WIDTH, WIDTH)))


def make(material: Material) -> ReportPage:
    """Similarity of independent layers by examples a neuron."""
    found = {ratio: independent(ratio) for ratio in RATIOS}
    series = {n: [Group(r, require(getattr(c, n), n), None, 1) for r, c in found.items()] for n in NAMES}
    series["Procrustes similarity"] = [
        Group(r, 1 - require(c.procrustes, "OPD"), None, 1) for r, c in found.items()
    ]
    rows = [
        [r, *[require(getattr(c, n), n) for n in NAMES], require(c.procrustes, "OPD"), c.cca_squared_chance]
        for r, c in found.items()
    ]
    few, many = found[RATIOS[1]], found[RATIOS[-1]]
    numbers = [
        require(value, "a similarity")
        for value in (few.svcca, many.svcca, few.cka_unbiased, many.cka_unbiased)
    ]
    return ReportPage(
        name="reproduce-svcca",
        title="Similarity of independent layers",
        finding=(
            f"At 2 examples a neuron SVCCA calls independent layers {numbers[0]:.2f} alike, at 50 still "
            f"{numbers[1]:.2f}; unbiased CKA says {numbers[2]:.3f} and {numbers[3]:.3f}."
        ),
        population="one draw of independent Gaussian layers of 64 neurons.",
        charts=[draw_curves(series, "Similarity of independent layers", "examples a neuron", "Similarity")],
        listings=[
            PageTable("Independent layers", ("N/D", *NAMES, "Procrustes", "chance of mean squared CCA"), rows)
        ],
        notes=["So every page of layers shows N/D and the chance level, and refuses CCA below N = D."],
        result={str(r): c.to_dict() for r, c in found.items()},
        table={
            "ratio": list(RATIOS),
            **{n: [require(getattr(c, n), n) for c in found.values()] for n in NAMES},
        },
    )
