"""Organizer's report: how difficult each dataset is, as the NeurIPS'22 Cross-Domain MetaDL paper defines it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.pages import PageTable, ReportPage
from anyshot_core.charts import draw_difficulty
from anyshot_core.report.estimates import Estimate, around
from anyshot_core.report.stored import estimate_words
from anyshot_scoring.difficulty import measure_difficulty
from anyshot_scoring.intervals import t_interval


@dataclass(frozen=True)
class Parameters:
    """`names` are the names to show; `baselines` says that the results are those of baselines alone."""

    names: dict[str, str] = field(default_factory=dict)
    baselines: bool = False


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Compare the best and the worst of the results on each dataset; all runs of a submission are pooled."""
    progress("Measuring datasets", 0, 1)
    if len(inputs.results) < 2:
        raise BadAnalysis(
            "difficulty compares the best and the worst: it needs the results of two submissions"
        )
    scores: dict[str, dict[str, float]] = {}
    tasks: dict[str, dict[str, NDArray[np.float64]]] = {}
    for key, tables in inputs.results.items():
        datasets = np.concatenate([table.dataset for table in tables])
        values = np.concatenate([table.normalized_accuracy for table in tables])
        tasks[key] = {str(name): values[datasets == name] for name in np.unique(datasets)}
        scores[key] = {name: float(own.mean()) for name, own in tasks[key].items()}
    found = measure_difficulty(scores)
    progress("Measuring datasets", 1, 1)
    hardest = max(found, key=lambda row: row.intrinsic)
    who = "baselines" if parameters.baselines else "entries"
    claims = {d.dataset: estimates_of(d.dataset, scores, tasks) for d in found}
    shown = [parameters.names.get(key, key) for key in scores]
    return ReportPage(
        name="difficulty",
        title="Difficulty of the datasets",
        finding=f"{hardest.dataset} is the hardest of {len(found)} datasets here: its intrinsic difficulty is "
        f"{estimate_words(claims[hardest.dataset][0])}, the highest of them.",
        estimates=[one for own in claims.values() for one in own],
        population=f"these datasets, for these {len(scores)} {who}; no claim about others.",
        charts=[draw_difficulty(found)],
        listings=[
            PageTable(
                "By dataset",
                ("dataset", "intrinsic", "modelling", "best", "worst"),
                [[d.dataset, d.intrinsic, d.modelling, *_extremes(scores, d.dataset)] for d in found],
            )
        ],
        notes=[
            f"Measured with {', '.join(shown[:12])}{' and others' if len(shown) > 12 else ''}. The paper takes two "
            "fixed baselines, MetaDelta++ with pretrained weights and training from scratch; here the best and the "
            "worst of those at hand count on each dataset. So the more of them there are, the smaller intrinsic "
            "difficulty and the larger modelling difficulty come out, by selection alone.",
        ],
        result={"difficulty": [vars(d) for d in found], "scores": scores},
        table={
            "dataset": [d.dataset for d in found],
            "intrinsic": [d.intrinsic for d in found],
            "modelling": [d.modelling for d in found],
        },
    )


def estimates_of(
    dataset: str, scores: dict[str, dict[str, float]], tasks: dict[str, dict[str, NDArray[np.float64]]]
) -> list[Estimate]:
    """Both difficulties in points, with intervals over other tasks of the dataset."""
    order = sorted(scores, key=lambda key: -scores[key][dataset])
    best, worst = (tasks[key][dataset] for key in (order[0], order[-1]))
    _, half = t_interval(best)
    _, other = t_interval(worst)
    both = None if half is None or other is None else float(np.hypot(half, other))
    picked, over = f"best of {len(scores)} on this dataset", f"other tasks of {dataset}"
    gap = scores[order[0]][dataset] - scores[order[-1]][dataset]
    return [
        around(
            f"intrinsic difficulty of {dataset}",
            100 * (1 - scores[order[0]][dataset]),
            None if half is None else 100 * half,
            "points",
            over,
            selected=picked,
        ),
        around(
            f"modelling difficulty of {dataset}",
            100 * gap,
            None if both is None else 100 * both,
            "points",
            over,
            selected=f"best against worst of {len(scores)} on this dataset",
        ),
    ]


def _extremes(scores: dict[str, dict[str, float]], dataset: str) -> list[float]:
    own = [by_dataset[dataset] for by_dataset in scores.values()]
    return [max(own), min(own)]
