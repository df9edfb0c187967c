"""Logistic regression whose penalty each support set chooses by cross-validation, against fixed penalties."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from anyshot_analysis.episodes import draw_within_datasets
from anyshot_analysis.heads import BaselineHead, compact, problem_of
from anyshot_analysis.jobs.excluded_datasets import say_left_out
from anyshot_analysis.jobs.heads import features_of
from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.jobs.options import Backbone, Cache, Pixels, Query, Shots, Tasks, Ways, Weights
from anyshot_analysis.pages import PageTable, ReportPage, bar_of, points
from anyshot_analysis.trust.baseline_cv import STRENGTHS, baseline_cv
from anyshot_analysis.trust.estimate import oracle
from anyshot_core.charts import draw_bars
from anyshot_core.report.estimates import mean
from anyshot_core.report.storage import estimate_words
from anyshot_core.wire.reports import Seed


@dataclass(frozen=True)
class Parameters:
    """`strengths` are scikit-learn's C, on features of unit length; `fixed` is the one to compare with."""

    strengths: Annotated[
        tuple[float, ...],
        Field(description="Penalties to choose from, scikit-learn's C, separated by commas."),
    ] = STRENGTHS
    fixed: Annotated[float, Field(description="Penalty to compare with, scikit-learn's C.")] = 1.0
    backbone: Backbone = "conv4"
    pixels: Pixels = None
    weights: Weights = None
    cache: Cache = None
    ways: Ways = 5
    shots: Shots = 5
    query: Query = 15
    tasks: Tasks = 200
    seed: Seed = 0

    def __post_init__(self) -> None:
        if len(self.strengths) < 2 or min(*self.strengths, self.fixed) <= 0:
            raise BadAnalysis("strengths are two positive numbers or more, fixed is a positive one")
        if self.tasks < 2:
            raise BadAnalysis("at least 2 tasks")


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """The same tasks for each penalty."""
    p = parameters
    features = features_of(inputs.test_pool, p.backbone, p.pixels, p.weights, p.cache, progress)
    episodes = draw_within_datasets(features, p.ways, p.shots, p.query, p.tasks, p.seed)
    problem, truth = compact(problem_of(features.values, episodes)), np.repeat(np.arange(p.ways), p.query)
    ordered = tuple(sorted({*p.strengths, p.fixed}))
    right = {}
    for place, strength in enumerate(ordered):
        right[strength] = oracle(BaselineHead(strength), problem, truth)
        progress("Fitting", place + 1, len(ordered) + 1)
    tuned = baseline_cv(problem, truth, p.strengths, p.fixed)
    progress("Fitting", len(ordered) + 1, len(ordered) + 1)
    gain = tuned.accuracies - right[p.fixed]
    over = f"other {p.ways}-way {p.shots}-shot tasks of these datasets"
    chosen = {s: int((tuned.strengths == s).sum()) for s in ordered}
    names = {s: f"C {s:g}" for s in ordered}
    gained = mean(f"BaselineCV minus C {p.fixed:g}", gain, "points", over, scale=100)
    best = max(ordered, key=lambda s: right[s].mean())
    fixed = {
        s: mean(
            f"Baseline, {names[s]}",
            right[s],
            "points",
            over,
            scale=100,
            selected=f"best of {len(ordered)} on these tasks" if s == best else "",
        )
        for s in ordered
    }
    page = ReportPage(
        name="baseline-cv",
        title="A penalty chosen on each support set",
        finding=f"Choosing the penalty on each support set (BaselineCV) changes the accuracy by "
        f"{estimate_words(gained)} against always taking C {p.fixed:g}. The best of the fixed penalties, known only "
        f"afterwards, is C {best:g}, at {estimate_words(fixed[best])}.",
        population=f"{over}; unit: the task, paired.",
        estimates=[
            gained,
            mean("BaselineCV", tuned.accuracies, "points", over, scale=100),
            *fixed.values(),
        ],
        charts=[
            draw_bars(
                [bar_of("BaselineCV", tuned.accuracies), *[bar_of(names[s], right[s]) for s in ordered]],
                "Accuracy by penalty",
                "Accuracy (points)",
            )
        ],
        listings=[
            PageTable(
                "Penalties (points)",
                ("C", "accuracy", "tasks that chose it"),
                [[f"{s:g}", points(right[s].mean()), chosen[s]] for s in ordered],
            )
        ],
        notes=[
            "The classifier is logistic regression on features of unit length. Cross-validation on the support set "
            f"has {folds_words(p.shots)}; ties go to the stronger penalty. C: scikit-learn's inverse strength of the "
            "penalty, so a smaller one is stronger.",
            *(
                [
                    f"{tuned.not_estimable} of {p.tasks} tasks could not be cross-validated and took C {p.fixed:g}."
                ]
                if tuned.not_estimable
                else []
            ),
        ],
        result={
            "gain": float(gain.mean()),
            "accuracy": {names[s]: float(right[s].mean()) for s in ordered},
            "chosen": {names[s]: count for s, count in chosen.items()},
            "not_estimable": tuned.not_estimable,
        },
        table={
            "task": np.arange(p.tasks),
            "strength": tuned.strengths,
            "tuned": tuned.accuracies,
            "fixed": right[p.fixed],
        },
    )
    return say_left_out(page, p.ways, features)


def folds_words(shots: int) -> str:
    """How many folds a support set of so many images of each class has."""
    return "no folds with one image of a class" if shots < 2 else f"{min(5, shots)} folds"
