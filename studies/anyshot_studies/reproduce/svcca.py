"""SVCCA's pathology: with few examples a neuron, independent layers look alike, and adding noise neurons helps."""

import numpy as np

from anyshot_analysis.pages import PageTable, ReportPage
from anyshot_analysis.representations import Similarities, compare
from anyshot_analysis.undefined import require
from anyshot_core.charts import draw_curves
from anyshot_core.report.estimates import mean
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.summary import Group
from anyshot_studies.reproduce.material import Material

WIDTH = 64
RATIOS = (1, 2, 3, 5, 10, 20, 50)
NAMES = ("cka", "svcca", "pwcca", "cca")
SEEDS = 5
DRAWS = "other draws of independent Gaussian layers of 64 neurons"


def independent(ratio: int, seed: int = 0) -> Similarities:
    """Two independent Gaussian layers with `ratio` examples a neuron."""
    rng = np.random.default_rng([seed, ratio])
    return compare(rng.normal(size=(ratio * WIDTH, WIDTH)), rng.normal(size=(ratio * WIDTH, WIDTH)))


def values_of(comparisons: list[Similarities], name: str) -> list[float]:
    """One measure over the draws; the Procrustes distance as a similarity."""
    values = [require(getattr(c, name), name) for c in comparisons]
    return [1 - v for v in values] if name == "procrustes" else values


def make(material: Material) -> ReportPage:
    """Similarity of independent layers by examples a neuron."""
    drawn = {ratio: [independent(ratio, seed) for seed in range(SEEDS)] for ratio in RATIOS}
    found = {ratio: comparisons[0] for ratio, comparisons in drawn.items()}
    series = {
        n: [Group(r, *t_interval(values_of(cs, n)), SEEDS) for r, cs in drawn.items()]
        for n in (*NAMES, "procrustes")
    }
    rows = [
        [r, *[require(getattr(c, n), n) for n in NAMES], require(c.procrustes, "OPD"), c.cca_squared_chance]
        for r, c in found.items()
    ]
    few, many = found[RATIOS[1]], found[RATIOS[-1]]
    numbers = [
        require(value, "a similarity")
        for value in (few.svcca, many.svcca, few.cka_unbiased, many.cka_unbiased)
    ]
    estimates = [
        mean(f"{words} at {ratio} examples a neuron", values_of(drawn[ratio], name), "similarity", DRAWS)
        for words, name in (("SVCCA", "svcca"), ("PWCCA", "pwcca"), ("unbiased CKA", "cka_unbiased"))
        for ratio in (RATIOS[1], RATIOS[-1])
    ]
    return ReportPage(
        name="reproduce-svcca",
        title="Similarity of independent layers",
        finding=(
            f"At 2 examples a neuron SVCCA calls independent layers {numbers[0]:.2f} alike, at 50 still "
            f"{numbers[1]:.2f}; unbiased CKA says {numbers[2]:.3f} and {numbers[3]:.3f}."
        ),
        population=f"{DRAWS}; {SEEDS} draws; the tables show the first.",
        estimates=estimates,
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
