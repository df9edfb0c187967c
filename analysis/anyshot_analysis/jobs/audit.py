"""Organizer's report.

How many classes the tasks of a phase see, and whether that makes two samples of tasks disjoint.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from anyshot_analysis.disjointness import (
    disjoint_probability_bound,
    enough_tasks,
    expected_classes,
    ordered_tasks,
    unordered_tasks,
)
from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.pages import Listing, Report
from anyshot_scoring.summary import Group
from anyshot_starting_kit.charts import Bar, draw_bars, draw_curves


@dataclass(frozen=True)
class Parameters:
    """Tasks a dataset in training and in testing, all of `ways` ways; `rho` is the risk of disjoint class sets."""

    ways: int = 5
    train_tasks: int = 100
    test_tasks: int = 100
    rho: float = 0.01

    def __post_init__(self) -> None:
        if self.ways < 1 or self.train_tasks < 1 or self.test_tasks < 1:
            raise BadAnalysis("ways and tasks are positive")


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> Report:
    """Count, dataset by dataset."""
    pool = inputs.test_pool
    sizes = {pack.name: len(pack.classes) for pack in pool if len(pack.classes) >= parameters.ways}
    if not sizes:
        raise BadAnalysis(f"no dataset has {parameters.ways} classes")
    left_out = [pack.name for pack in pool if len(pack.classes) < parameters.ways]
    seen = {
        name: expected_classes(np.full(n, parameters.ways / n), parameters.test_tasks)
        for name, n in sizes.items()
    }
    needed = {
        n: math.ceil(enough_tasks(size, parameters.ways, 1.0, parameters.rho)) for n, size in sizes.items()
    }
    risk = {
        name: disjoint_probability_bound(
            size, parameters.ways, 1.0, parameters.train_tasks, parameters.test_tasks
        )
        for name, size in sizes.items()
    }
    rows = [
        [
            n,
            size,
            ordered_tasks(size, parameters.ways),
            unordered_tasks(size, parameters.ways),
            seen[n],
            needed[n],
            risk[n],
        ]
        for n, size in sizes.items()
    ]
    share = {name: seen[name] / sizes[name] for name in sizes}
    grid = sorted({*np.unique(np.geomspace(1, max(10, parameters.test_tasks), 16).astype(int)).tolist()})
    curves = {
        name: [Group(t, expected_classes(np.full(n, parameters.ways / n), t) / n, None, t) for t in grid]
        for name, n in sizes.items()
    }
    return Report(
        name="audit",
        title="Which classes the tasks see",
        finding=finding_of(share, parameters.test_tasks),
        population="uniform tasks of distinct classes of each dataset; unit of resampling: the task.",
        charts=[
            draw_curves(curves, "Share of the classes seen", "tasks", "Share of classes"),
            draw_bars(
                [Bar(n, v) for n, v in needed.items()],
                f"Tasks that make a miss rarer than {parameters.rho}",
                "Tasks",
            ),
        ],
        listings=[
            Listing(
                "By dataset",
                (
                    "dataset",
                    "classes",
                    "ordered tasks",
                    "sets of classes",
                    "classes seen",
                    "enough tasks",
                    "P(disjoint) at most",
                ),
                rows,
            )
        ],
        notes=[f"Left out, with fewer than {parameters.ways} classes: {', '.join(left_out)}."]
        if left_out
        else [],
        result={"classes": sizes, "expected_seen": seen, "enough_tasks": needed, "disjoint_bound": risk},
        table={
            "dataset": list(sizes),
            "classes": list(sizes.values()),
            "expected_seen": list(seen.values()),
            "enough_tasks": list(needed.values()),
            "disjoint_bound": list(risk.values()),
        },
    )


def finding_of(share: Mapping[str, float], tasks: int) -> str:
    """Which dataset's classes are seen least."""
    least = min(share, key=lambda name: share[name])
    if share[least] > 0.9995:
        return f"{tasks} tasks a dataset are expected to see all classes of every dataset."
    return f"{tasks} tasks a dataset are expected to see {share[least]:.1%} of the classes of {least}, the least seen."
