"""Organizer's report: how difficult each dataset is, as the NeurIPS'22 Cross-Domain MetaDL paper defines it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.flips.common_tasks import keep_datasets
from anyshot_analysis.jobs.inputs import SAME_TASKS, BadAnalysis, Inputs, Progress
from anyshot_analysis.pages import PageTable, ReportPage, points
from anyshot_core.charts import draw_difficulty
from anyshot_core.report.estimates import Estimate, around
from anyshot_core.report.storage import estimate_words
from anyshot_core.wire.reports import Difficulty as DifficultyReport
from anyshot_core.words import count_of
from anyshot_scoring.difficulty import Difficulty, measure_difficulty
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.table import TaskTable
from anyshot_scoring.undefined import Undefined


class Parameters(DifficultyReport):
    """`names` are the names to show; `baselines` says that the results are those of baselines alone."""


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Compare the best and the worst of the results on each dataset; all runs of a submission are pooled."""
    progress("Measuring datasets", 0, 1)
    if len(inputs.results) < 2:
        raise BadAnalysis(
            "difficulty compares the best and the worst: it needs the results of two submissions"
        )
    common = keep_datasets(inputs, parameters.names)
    inputs = common.inputs
    scores: dict[str, dict[str, float]] = {}
    tasks: dict[str, dict[str, NDArray[np.float64]]] = {}
    for key, tables in inputs.results.items():
        table = TaskTable.concatenate([one.sorted() for one in tables])
        names, codes = np.unique(table.dataset, return_inverse=True)
        values, dataset = inputs.by_task(table.normalized_accuracy), inputs.by_task(codes)
        tasks[key] = {str(name): values[dataset == place] for place, name in enumerate(names)}
        scores[key] = {name: float(own.mean()) for name, own in tasks[key].items()}
    found = measure_difficulty(scores)
    progress("Measuring datasets", 1, 1)
    hardest = max(found, key=lambda row: row.intrinsic)
    who = ("baseline", "baselines") if parameters.baselines else ("entry", "entries")
    claims = {d.dataset: estimates_of(d.dataset, scores, tasks) for d in found}
    shown = [parameters.names.get(key, key) for key in scores]
    return ReportPage(
        name="difficulty",
        title="Difficulty of the datasets",
        finding=f"{hardest.dataset} comes out as the hardest of {count_of(len(found), 'dataset')}"
        f"{common.said}: its intrinsic difficulty is "
        f"{estimate_words(claims[hardest.dataset][0])}{_beside(hardest.dataset, claims)}.",
        estimates=[one for own in claims.values() for one in own],
        population=f"these datasets, for these {len(scores)} {who[1]}; no claim about others.",
        charts=[draw_difficulty(in_points(found), axis="Difficulty (points)", who=who[0])],
        listings=[
            PageTable(
                "By dataset (points of normalized accuracy)",
                ("dataset", "intrinsic", "modelling", "best", "worst"),
                [[d.dataset, *map(points, figures(d, scores))] for d in found],
            )
        ],
        notes=[
            f"Measured with {', '.join(shown[:12])}{' and others' if len(shown) > 12 else ''}. The paper takes two "
            "fixed baselines, MetaDelta++ with pretrained weights and training from scratch; here the best and the "
            "worst of those at hand count on each dataset. So the more of them there are, the smaller intrinsic "
            "difficulty and the larger modelling difficulty come out, by selection alone.",
            *common.notes,
            *([SAME_TASKS] if inputs.shares_tasks else []),
        ],
        result={"difficulty": [vars(d) for d in found], "scores": scores} | common.result,
        table={
            "dataset": [d.dataset for d in found],
            "intrinsic": [d.intrinsic for d in found],
            "modelling": [d.modelling for d in found],
        },
    )


def _beside(hardest: str, claims: Mapping[str, Sequence[Estimate]]) -> str:
    """Which datasets may be as hard: those whose interval reaches into that of the hardest."""
    own = claims[hardest][0].interval
    if isinstance(own, Undefined):
        return ""
    near = [
        name
        for name, (intrinsic, _) in claims.items()
        if name != hardest
        and not isinstance(intrinsic.interval, Undefined)
        and intrinsic.interval[1] >= own[0]
    ]
    return (
        f"; the intervals of {', '.join(near)} overlap with it" if near else "; no other interval reaches it"
    )


def estimates_of(
    dataset: str, scores: dict[str, dict[str, float]], tasks: dict[str, dict[str, NDArray[np.float64]]]
) -> list[Estimate]:
    """Both difficulties in points, with intervals over other tasks of the dataset."""
    order = sorted(scores, key=lambda key: -scores[key][dataset])
    best, worst = (tasks[key][dataset] for key in (order[0], order[-1]))
    _, half = t_interval(best)
    both = width_of_gap(best, worst)
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


def width_of_gap(one: NDArray[np.float64], two: NDArray[np.float64]) -> float | None:
    """Half width of the interval of the mean of one minus two, task by task where both have the same number."""
    if len(one) == len(two):
        return t_interval(one - two)[1]
    half, other = t_interval(one)[1], t_interval(two)[1]
    return None if half is None or other is None else float(np.hypot(half, other))


def in_points(found: Sequence[Difficulty]) -> list[Difficulty]:
    """For the chart, which has the unit of the tables."""
    return [replace(d, intrinsic=100 * d.intrinsic, modelling=100 * d.modelling) for d in found]


def figures(found: Difficulty, scores: dict[str, dict[str, float]]) -> list[float]:
    """Both difficulties of a dataset, and the best and the worst score that they come from."""
    own = [by_dataset[found.dataset] for by_dataset in scores.values()]
    return [found.intrinsic, found.modelling, max(own), min(own)]
