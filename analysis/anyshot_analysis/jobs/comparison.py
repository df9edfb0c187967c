"""Participant's view: two of their runs on the same tasks: different, equivalent or undecided."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.equivalence import EquivalenceVerdict, compare_paired
from anyshot_analysis.jobs.inputs import SAME_TASKS, BadAnalysis, Inputs, Progress
from anyshot_analysis.pages import Cell, PageTable, ReportPage, points
from anyshot_analysis.undefined import Undefined
from anyshot_core.charts import draw_distributions
from anyshot_core.report.estimates import Estimate, around
from anyshot_core.report.stored import interval_cell
from anyshot_core.words import count_of
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.reliability import Interval, NotComparable, align, compare
from anyshot_scoring.reliability.verdicts import MARGIN
from anyshot_scoring.table import TaskTable

WORDS = {
    EquivalenceVerdict.DIFFERENT: "The two differ",
    EquivalenceVerdict.EQUIVALENT: "The two are equivalent",
    EquivalenceVerdict.UNDECIDED: "These tasks do not decide whether the two differ",
}


@dataclass(frozen=True)
class Parameters:
    """`margin` in accuracy: what is too small to matter."""

    margin: float = MARGIN


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Paired differences of two submissions over all their runs."""
    tables = two_of(inputs)
    try:
        matrix = align(tables)
    except NotComparable as error:
        raise BadAnalysis(f"the two were not tested on the same tasks: {error}") from error
    first, second = tables
    wider = compare(matrix, first, second, replicates=1000).by_dataset
    one, two, dataset = (inputs.by_task(rows) for rows in (*matrix.scores.T, matrix.dataset))
    gaps = one - two
    found = compare_paired(one, two, parameters.margin)
    if isinstance(found, Undefined):
        raise BadAnalysis(found.reason)
    by_dataset = [(name, gaps[dataset == place]) for place, name in enumerate(matrix.datasets)]
    finding = (
        f"{WORDS[found.verdict]}: {first} minus {second} is {points(found.mean)} ± {points(found.half_width)} points "
        f"(95 %) over {found.tasks} tasks like these (margin {count_of(100 * found.margin, 'point')}). "
        f"{over_datasets(wider)}"
    )
    return ReportPage(
        name="compare",
        title=f"{first} against {second}",
        finding=finding,
        population="other tasks drawn as these were; unit of resampling: the task, paired. Beside it: other datasets.",
        estimates=[
            around(
                f"{first} minus {second}, other tasks",
                100 * found.mean,
                100 * found.half_width,
                "points",
                "other tasks of these datasets, paired",
            ),
            over_other_datasets(f"{first} minus {second}, other datasets", found.mean, wider),
        ],
        charts=[
            draw_distributions(
                {f"{first} minus {second}": 100 * gaps}, "Paired differences", "Difference a task (points)"
            )
        ],
        listings=[
            PageTable(
                "By dataset (points)",
                ("dataset", "tasks", "difference", "95 % interval, other tasks"),
                [row(name, own) for name, own in by_dataset],
            )
        ],
        notes=[
            f"Normalized accuracy; all runs count: {', '.join(f'{n} {len(runs)}' for n, runs in tables.items())}.",
            "Intervals by dataset stand each for itself: of twenty of them one misses by chance.",
            *([SAME_TASKS] if inputs.shares_tasks and matrix.runs > 1 else []),
        ],
        result={**found.to_dict(), "by_dataset": wider if isinstance(wider, Undefined) else asdict(wider)},
        table={"task": inputs.by_task(matrix.task), "difference": gaps},
    )


def row(dataset: str, gaps: NDArray[np.float64]) -> list[Cell]:
    """The difference on a dataset, with its interval over other tasks of it."""
    mean, half = t_interval(100 * gaps)
    interval = Undefined("a single task has no interval") if half is None else (mean - half, mean + half)
    cell = interval if isinstance(interval, Undefined) else interval_cell(interval)
    return [dataset, len(gaps), mean, cell]


def two_of(inputs: Inputs) -> dict[str, list[TaskTable]]:
    """Two submissions with all their runs, or the two runs of a single one."""
    runs = inputs.runs
    if len(runs) == 1 and len(next(iter(runs.values()))) == 2:
        ((name, pair),) = runs.items()
        return {
            f"{name}, run {run.identity.run_key or place}": [run.table] for place, run in enumerate(pair, 1)
        }
    if len(runs) != 2:
        raise BadAnalysis(
            f"a comparison takes the results of two runs or two submissions, found {len(runs)} submission(s): "
            f"{', '.join(runs)}"
        )
    return inputs.results


def over_other_datasets(name: str, mean: float, wider: Interval | Undefined) -> Estimate:
    """The same difference with its interval over datasets."""
    interval = wider if isinstance(wider, Undefined) else (100 * wider.low, 100 * wider.high)
    return Estimate(name, 100 * mean, interval, "points", "other datasets")


def over_datasets(wider: Interval | Undefined) -> str:
    """What the same difference says of other datasets."""
    if isinstance(wider, Undefined):
        return f"About other datasets nothing can be said: {wider.reason}."
    settled = "contains" if wider.holds(0.0) else "does not contain"
    return (
        f"Over other datasets the 95 % interval is {points(wider.low)} to {points(wider.high)} "
        f"({wider.units} datasets): it {settled} 0."
    )
