"""Participant's view: two of their runs on the same tasks: different, equivalent or undecided."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anyshot_analysis.equivalence import MARGIN, Verdict, compare_paired
from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.pages import Listing, Report, points
from anyshot_analysis.undefined import Undefined
from anyshot_starting_kit.charts import draw_distributions

WORDS = {
    Verdict.DIFFERENT: "The two runs differ",
    Verdict.EQUIVALENT: "The two runs are equivalent",
    Verdict.UNDECIDED: "These tasks do not decide whether the two runs differ",
}


@dataclass(frozen=True)
class Parameters:
    """`margin` in accuracy: what is too small to matter."""

    margin: float = MARGIN


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> Report:
    """Paired differences of the first two results files."""
    tables = inputs.results
    if len(tables) != 2:
        raise BadAnalysis(f"a comparison takes the results of two runs, found {len(tables)}")
    (first, one), (second, two) = [(name, runs[0]) for name, runs in tables.items()]
    if not np.array_equal(one.task, two.task) or not np.array_equal(one.dataset, two.dataset):
        raise BadAnalysis("the two runs were not tested on the same tasks")
    found = compare_paired(one.normalized_accuracy, two.normalized_accuracy, parameters.margin)
    if isinstance(found, Undefined):
        raise BadAnalysis(found.reason)
    gaps = one.normalized_accuracy - two.normalized_accuracy
    rows = [
        [str(name), int((one.dataset == name).sum()), points(float(gaps[one.dataset == name].mean()))]
        for name in np.unique(one.dataset)
    ]
    finding = (
        f"{WORDS[found.verdict]}: {first} minus {second} is {points(found.mean)} ± {points(found.half_width)} points "
        f"over {found.tasks} tasks (margin {points(found.margin)})."
    )
    return Report(
        name="compare",
        title=f"{first} against {second}",
        finding=finding,
        population="other tasks drawn as these were; unit of resampling: the task, paired.",
        charts=[
            draw_distributions({f"{first} minus {second}": gaps}, "Paired differences", "Difference a task")
        ],
        listings=[Listing("By dataset (points)", ("dataset", "tasks", "difference"), rows)],
        result=found.to_dict(),
        table={"task": one.task, "difference": gaps},
    )
