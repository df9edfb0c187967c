"""Which configuration to take without seeing novel classes, what each rule loses, and what a few looks would cost.

Snapshots of a training are configurations too.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.pages import PageTable, ReportPage, points
from anyshot_analysis.selection.rules import choose, oracle_calls_lost
from anyshot_analysis.undefined import Quantity
from anyshot_core.charts import draw_curves
from anyshot_core.report.estimates import resampled
from anyshot_core.report.storage import estimate_words
from anyshot_core.wire.reports import Seed
from anyshot_core.words import count_of
from anyshot_scoring.reliability import tau_b
from anyshot_scoring.summary import Group

RULES = {"base": "best BaseGen", "validation": "best ValGen", "classes": "cross-validation over classes"}
OVER = "other tasks of the same classes, {}s as they are"


@dataclass(frozen=True)
class Parameters:
    """`replicates` redraws of the tasks, each chosen and judged anew, give the intervals."""

    replicates: Annotated[int, Field(description="Redraws of the bootstrap.")] = 1000
    seed: Seed = 0

    def __post_init__(self) -> None:
        if self.replicates < 200:
            raise BadAnalysis("at least 200 replicates")


def read_scores(path: Path) -> dict[str, NDArray[np.float64]]:
    """`novel` and one or more of `base`, `validation`, `classes`, each `[configurations, tasks]`. `BadAnalysis`.

    Other arrays, such as the `train_loss` of a run's `snapshots.npz`, are left out.
    """
    with np.load(path, allow_pickle=False) as stored:
        found = {n: np.asarray(stored[n], np.float64) for n in stored.files if n in (*RULES, "novel")}
    if "novel" not in found or len(found) < 2:
        raise BadAnalysis(
            f"{path.name}: needs novel and one or more of {', '.join(RULES)}, each [configurations, tasks]"
        )
    rows = {v.shape[0] for v in found.values()}
    if any(v.ndim != 2 or not np.isfinite(v).all() for v in found.values()) or len(rows) != 1 or rows == {1}:
        raise BadAnalysis(
            f"{path.name}: each array is [configurations, tasks], of the same two or more configurations"
        )
    return found


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Rules and oracle calls on the file of `snapshots`, or of `arrays` where there is none."""
    of_a_run = bool(inputs.files.get("snapshots"))
    (path,) = inputs.paths("snapshots" if of_a_run else "arrays", most=1)
    scores = read_scores(path)
    rng = np.random.default_rng(parameters.seed)
    redrawn = []
    for _ in range(parameters.replicates):
        redrawn.append(
            {n: v[:, rng.integers(v.shape[1], size=v.shape[1])].mean(axis=1) for n, v in scores.items()}
        )
    progress("Redrawing tasks", 1, 1)
    means = {n: v.mean(axis=1) for n, v in scores.items()}
    return describe(means, redrawn, "snapshot" if of_a_run else "configuration")


def describe(
    means: dict[str, NDArray[np.float64]],
    redrawn: list[dict[str, NDArray[np.float64]]],
    noun: str = "configuration",
) -> ReportPage:
    """Set the found figures on a page: finding, tables, charts and what they are of. `noun` is what is chosen."""
    novel, rules, over = means["novel"], [name for name in RULES if name in means], OVER.format(noun)
    taken = {name: choose(RULES[name], means[name], novel) for name in rules}
    calls = [oracle_calls_lost(novel, k) for k in range(1, len(novel) + 1)]
    taus: dict[str, Quantity] = {name: tau_b(means[name], novel) for name in rules}
    best = min(rules, key=lambda name: taken[name].novel_lost)
    equal = next(k for k, lost in enumerate(calls, 1) if lost <= taken[best].novel_lost + 1e-12)
    picked = f"the best of {len(novel)} is itself the luckiest of them"
    lost = [
        resampled(
            f"novel lost by {RULES[name]}",
            taken[name].novel_lost,
            [choose("", one[name], one["novel"]).novel_lost for one in redrawn],
            "points",
            over,
            scale=100,
            selected=picked,
        )
        for name in rules
    ]
    estimates = [
        *lost,
        *[
            resampled(
                f"novel lost by {count_of(k, 'oracle call')}",
                calls[k - 1],
                [oracle_calls_lost(one["novel"], k) for one in redrawn],
                "points",
                over,
                scale=100,
                selected=picked,
            )
            for k in (1, 2, 4)
            if k < len(novel)
        ],
        *[
            resampled(
                f"tau-b of {name} and novel",
                taus[name],
                [tau_b(one[name], one["novel"]) for one in redrawn],
                "correlation",
                over,
            )
            for name in rules
        ],
    ]
    words = "; ".join(
        f"{RULES[name]} takes {noun} {taken[name].configuration + 1} and loses {estimate_words(one)}"
        for name, one in zip(rules, lost, strict=True)
    )
    return ReportPage(
        name="selection",
        title=f"Choosing a {noun} without novel classes",
        finding=f"On novel classes, against the best of {len(novel)} {noun}s: {words}. "
        f"{asked_words(equal, len(novel), noun)} loses no more, in expectation, than {RULES[best]}.",
        population=f"{over}; unit of resampling: the task.",
        estimates=estimates,
        charts=[
            draw_curves(
                {
                    n: [Group(i + 1, 100 * float(v), None, 1) for i, v in enumerate(row)]
                    for n, row in means.items()
                },
                f"Accuracy by {noun}",
                noun,
                "Accuracy (points)",
                intervals=False,
            ),
            draw_curves(
                {"novel lost": [Group(k, 100 * float(v), None, 1) for k, v in enumerate(calls, 1)]},
                "Expected loss by number of oracle calls",
                "oracle calls",
                "Novel lost (points)",
                intervals=False,
            ),
        ],
        listings=[
            PageTable(
                "Rules (points)",
                ("rule", noun, "NovelGen", "novel lost", "tau-b with NovelGen"),
                [
                    [
                        RULES[n],
                        taken[n].configuration + 1,
                        points(taken[n].novel),
                        points(taken[n].novel_lost),
                        taus[n],
                    ]
                    for n in rules
                ],
            )
        ],
        notes=[
            "NovelGen: accuracy on novel classes; BaseGen: on base classes, those that were trained on, with other "
            "images; ValGen: on validation classes. Novel lost: the best NovelGen less that of what was taken. "
            "The first wins ties.",
            f"An oracle call asks for the NovelGen of one {noun}, drawn at random; the best of those asked is "
            f"taken. The expectation over what is asked is exact for these {noun}s and tasks; intervals are over "
            "other tasks.",
        ],
        result={
            "taken": {n: taken[n].configuration + 1 for n in rules},
            "novel_lost": {n: taken[n].novel_lost for n in rules},
            "oracle_calls": calls,
            "equal_calls": equal,
            "tau_b": taus,
        },
        table={"configuration": np.arange(1, len(novel) + 1), **means},
    )


def asked_words(calls: int, of: int, noun: str) -> str:
    """What so many oracle calls are, as the beginning of a sentence."""
    if calls == 1:
        return f"Taking one {noun} at random"
    if calls == of:
        return f"Only asking for the NovelGen of all {of}"
    return f"Asking for the NovelGen of {calls} of them, drawn at random, and taking the best"
