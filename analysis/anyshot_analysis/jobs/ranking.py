"""Organizer's report after a phase: how far the order of the board can be trusted, by population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.pages import Report
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.reliability import POPULATIONS, align, assess
from anyshot_scoring.summary import Group
from anyshot_scoring.table import TaskTable
from anyshot_starting_kit.charts import Chart, draw_curves
from anyshot_starting_kit.report import reliability_section


@dataclass(frozen=True)
class Parameters:
    """`feedback` holds the submissions' scores of the feedback phase; `names` the names to show."""

    replicates: int = 2000
    combination: str = "worst"
    feedback: dict[str, float] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.replicates < 1000:
            raise BadAnalysis("at least 1,000 replicates: fewer carry points of noise")


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> Report:
    """Assess the board and show its order by ways and shots."""
    tables = inputs.results
    if len(tables) < 2:
        raise BadAnalysis("the order of a board needs the results of two submissions")
    progress("Comparing submissions", 0, 2)
    matrix = align(tables)
    assessment = assess(
        matrix,
        feedback=parameters.feedback or None,
        combination=parameters.combination,
        replicates=parameters.replicates,
        seed=parameters.seed,
    )
    progress("Comparing submissions", 1, 2)
    charts = [
        by_column(tables, assessment.keys[:8], parameters.names, column) for column in ("ways", "shots")
    ]
    progress("Comparing submissions", 2, 2)
    best = assessment.keys[0]
    return Report(
        name="flips",
        title="How far this ranking can be trusted",
        finding=f"{parameters.names.get(best, best)} leads {len(assessment.keys)} submissions; below, by population, "
        "how often another draw would turn the order round.",
        population=f"each on its own: {', '.join(str(p) for p in POPULATIONS)}; the unit is named beside it.",
        charts=charts,
        extra=reliability_section(assessment, parameters.names),
        result=assessment.to_dict(),
        table={
            "task": np.tile(matrix.task, len(matrix.keys)),
            "run": np.tile(matrix.run, len(matrix.keys)),
            "submission": np.repeat(matrix.keys, len(matrix.task)),
            "score": np.concatenate([matrix.column(key) for key in matrix.keys]),
        },
    )


def by_column(
    tables: Mapping[str, Sequence[TaskTable]], keys: Sequence[str], names: Mapping[str, str], column: str
) -> Chart:
    """Curves of the first submissions over ways or shots, all runs pooled."""
    series = {}
    for key in keys:
        values = np.concatenate([getattr(t, column) for t in tables[key]])
        scores = np.concatenate([t.normalized_accuracy for t in tables[key]])
        groups = []
        for level in np.unique(values):
            own = scores[values == level]
            groups.append(Group(int(level), float(own.mean()), half_width_of(own), len(own)))
        series[names.get(key, key)] = groups
    return draw_curves(series, f"Order by {column}", column)


def half_width_of(scores: np.ndarray) -> float | None:
    """Half width of a 95 % interval over tasks, None for one task."""
    return t_interval(scores)[1]
