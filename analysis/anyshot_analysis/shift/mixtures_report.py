"""How many novel classes are in a task of a mixture of base and novel classes, exactly."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.jobs.options import Mixing, Ways
from anyshot_analysis.pages import PageTable, ReportPage
from anyshot_analysis.shift.disjointness import novel_in_task
from anyshot_analysis.shift.evaluation import LAMBDAS
from anyshot_core.charts import draw_curves, draw_heat_map
from anyshot_core.report.estimates import exact
from anyshot_scoring.summary import Group

OVER = "tasks of the mixture"


@dataclass(frozen=True)
class Parameters:
    """Classes of a dataset on either side, ways of a task, and the rule of the mixture."""

    base_classes: Annotated[int, Field(description="Base classes of the dataset.")] = 20
    novel_classes: Annotated[int, Field(description="Novel classes of the dataset.")] = 10
    ways: Ways = 5
    mixing: Mixing = "weighted"

    def __post_init__(self) -> None:
        if self.mixing not in ("weighted", "coin"):
            raise BadAnalysis("mixing is weighted or coin")
        if not 2 <= self.ways <= min(self.base_classes, self.novel_classes):
            raise BadAnalysis("ways are at least 2, and at most the classes of either side")


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """The distribution at each lambda."""
    p = parameters
    found = np.array(
        [novel_in_task(p.base_classes, p.novel_classes, p.ways, share, p.mixing) for share in LAMBDAS]
    )
    counts = np.arange(p.ways + 1)
    means = found @ counts / p.ways
    spread = np.sqrt(found @ counts**2 - (found @ counts) ** 2)
    uniform = p.novel_classes / (p.base_classes + p.novel_classes)
    labels = [f"{share:g}" for share in LAMBDAS]
    return ReportPage(
        name="mixtures",
        title="Novel classes in tasks of a mixture",
        finding=f"At lambda 0.5 a task of {p.ways} ways has {p.ways * means[5]:.2f} novel classes on average, none at "
        f"all with probability {found[5, 0]:.3f}. Uniform over all classes at lambda {uniform:.3f}"
        f"{' only in the mean: the coin knows no sizes' if p.mixing == 'coin' else ''}.",
        population=f"tasks of one dataset with {p.base_classes} base and {p.novel_classes} novel classes; exact, "
        "nothing is sampled.",
        estimates=[
            exact(f"share of novel classes at lambda {label}", mean, "share of the ways", OVER)
            for label, mean in zip(labels, means, strict=True)
        ],
        charts=[
            draw_heat_map(
                found,
                labels,
                "Probability of so many novel classes, by lambda",
                "probability of the column's number of novel classes at the row's lambda",
                columns=[str(c) for c in counts],
                low=0,
                high=1,
            ),
            draw_curves(
                {
                    "mean share": [
                        Group(f"{x:g}", float(m), None, 1) for x, m in zip(LAMBDAS, means, strict=True)
                    ],
                    "no novel class": [
                        Group(f"{x:g}", float(row[0]), None, 1) for x, row in zip(LAMBDAS, found, strict=True)
                    ],
                },
                "Novel classes along lambda",
                "lambda",
                "Share, or probability",
                whole=False,
                intervals=False,
            ),
        ],
        listings=[
            PageTable(
                "By lambda",
                ("lambda", "mean share", "sd of the number", *[f"P({c})" for c in counts]),
                [
                    [label, float(m), float(s), *map(float, row)]
                    for label, m, s, row in zip(labels, means, spread, found, strict=True)
                ],
            )
        ],
        notes=[
            "Lambda: how much novel classes weigh, from 0 (base classes alone) to 1 (novel classes alone). "
            "`weighted`: classes are drawn one after the other without replacement, with weights lambda / novel and "
            "(1 - lambda) / base classes, as the papers' code does. `coin`: each place is novel with probability "
            "lambda, as they write."
        ],
        result={"probability": found, "mean_share": means, "uniform_lambda": uniform},
        table={"lambda": np.array(LAMBDAS), **{f"p{c}": found[:, c] for c in counts}},
    )
