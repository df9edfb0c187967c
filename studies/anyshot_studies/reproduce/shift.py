"""In- and out-of-distribution order and lambda curves of heads on the real pool."""

from dataclasses import replace
from itertools import combinations

from anyshot_analysis.jobs.heads import heads_of
from anyshot_analysis.pages import ReportPage
from anyshot_analysis.shift.evaluation import LAMBDAS, Sides, lambda_curves, split_sides
from anyshot_analysis.shift.heads_report import Parameters, describe
from anyshot_core.report.estimates import mean
from anyshot_studies.reproduce.material import WORDS, Material

OVER = "other tasks of these base and novel classes, paired"
HEADS = ("baseline", "baseline++", "protonet", "r2d2", "metaoptnet-svm")


def make(material: Material) -> ReportPage:
    """Base classes are Set-0's, which the backbone was trained on; novel ones are all classes of Set-1 and Set-2."""
    base = split_sides(material.features(0), (1.0, 0.0))
    novel = material.features(1, 2)
    sides = Sides(base.trained, base.held_back, novel, novel)
    parameters = Parameters(heads=HEADS, tasks=200)
    curve = lambda_curves(sides, heads_of(HEADS), LAMBDAS, tasks=200)
    notes = [
        WORDS,
        "BaseGen is optimistic: the backbone saw the held-back images of base classes too; 200 tasks a lambda.",
        "Published: rankings of methods flip between BaseGen and NovelGen (miniImageNet); no number is comparable.",
    ]
    report = describe(curve, parameters)
    pairs = [
        mean(f"{a} minus {b}, {side}", point.hits[a] - point.hits[b], "points", OVER, scale=100)
        for side, point in (("BaseGen", curve[0]), ("NovelGen", curve[-1]))
        for a, b in combinations(HEADS, 2)
    ]
    return replace(
        report,
        estimates=[*report.estimates, *pairs],
        name="reproduce-shift",
        title="Heads in and out of distribution",
        notes=notes,
    )
