"""Participant's view: two of their runs on the same tasks: different, equivalent or undecided."""

from dataclasses import asdict, dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from anyshot_analysis.jobs.inputs import OF_THE_MODEL, SAME_TASKS, BadAnalysis, Inputs, Progress
from anyshot_analysis.pages import Cell, PageTable, ReportPage
from anyshot_analysis.undefined import Undefined
from anyshot_core.chances import chance_words
from anyshot_core.charts import draw_distributions
from anyshot_core.report.estimates import Estimate
from anyshot_core.report.storage import interval_cell
from anyshot_core.wire.reports import RuleName
from anyshot_core.words import count_of
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.reliability import POPULATIONS, NotComparable, Population, align
from anyshot_scoring.reliability.board_pairs import JudgedPair, KnownBoard, know_board
from anyshot_scoring.reliability.differences import MARGIN
from anyshot_scoring.reliability.paired import Verdict
from anyshot_scoring.rules import Rule, find_rule
from anyshot_scoring.table import TaskTable

WORDS: dict[Verdict, str] = {
    "different": "The two differ",
    "equivalent": "The two are equivalent",
    "undecided": "These tasks do not decide whether the two differ",
}


@dataclass(frozen=True)
class Parameters:
    """`margin` in accuracy: what is too small to matter. `rule` is that of the phase, which the verdict goes by."""

    margin: Annotated[float, Field(description="Difference that is too small to matter, in accuracy.")] = (
        MARGIN
    )
    rule: RuleName = "worst_run"


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Two submissions, judged as a board of two is."""
    tables, rule = two_of(inputs), find_rule(parameters.rule)
    try:
        matrix = align(tables)
    except NotComparable as error:
        raise BadAnalysis(f"the two were not tested on the same tasks: {error}") from error
    first, second = tables
    board = know_board(matrix, rule, shared_tasks=inputs.shares_tasks)
    found = board.judge(first, second, parameters.margin)
    one, two, dataset = (inputs.by_task(rows) for rows in (*matrix.scores.T, matrix.dataset))
    gaps = one - two
    by_dataset = [(name, gaps[dataset == place]) for place, name in enumerate(matrix.datasets)]
    return ReportPage(
        name="compare",
        title=f"{first} against {second}",
        finding=finding_of(first, second, found, board, parameters.margin),
        population="other tasks of these datasets, and beside it other datasets: by the model of a board of the two.",
        estimates=estimates_of(first, second, found, board),
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
            "A point is 0.01 of normalized accuracy: 0 is chance, 1 is perfect.",
            f"Verdict, difference and interval go by the ranking rule. {rule.words(matrix.runs)}",
            f"Chart and datasets have all runs: {', '.join(f'{n} {len(own)}' for n, own in tables.items())}.",
            "Intervals by dataset stand each for itself: about 1 in 20 misses by chance.",
            *([SAME_TASKS] if inputs.shares_tasks and matrix.runs > 1 else []),
        ],
        result={
            **asdict(found),
            "rule": rule.name,
            "unit": rule.unit,
            "tasks": board.tasks,
            "margin": parameters.margin,
        },
        table={"task": inputs.by_task(matrix.task), "difference": gaps},
    )


def finding_of(first: str, second: str, found: JudgedPair, board: KnownBoard, margin: float) -> str:
    """The verdict, what it rests on, and what is known of other datasets, in sentences."""
    shown, unit = in_unit(board.rule)
    known = found.interval
    interval = (
        known.reason
        if isinstance(known, Undefined)
        else f"95 % over other tasks: {shown * known.low:.2f} to {shown * known.high:.2f}"
    )
    beside = "" if board.rule.relative else f", margin {count_of(100 * margin, 'point')}"
    return (
        f"{WORDS[found.verdict]}: {first} minus {second} is {shown * found.difference:.2f} {unit} ({interval}) by "
        f"{count_of(board.tasks, 'task')}{beside}. {over_datasets(first, found.elsewhere)}"
    )


def in_unit(rule: Rule) -> tuple[float, str]:
    """By what differences are multiplied where they are shown, and the unit that they have then."""
    return (1.0, rule.unit) if rule.relative else (100.0, "points")


def estimates_of(first: str, second: str, found: JudgedPair, board: KnownBoard) -> list[Estimate]:
    """The difference, and how probable the first is truly better, over other tasks and over other datasets."""
    shown, unit = in_unit(board.rule)
    known = found.interval
    interval = known if isinstance(known, Undefined) else (shown * known.low, shown * known.high)
    tasks, datasets = POPULATIONS[Population.TASKS], POPULATIONS[Population.DATASETS]
    better = f"{first} is truly better"
    return [
        Estimate(f"{first} minus {second}", shown * found.difference, interval, unit, tasks),
        Estimate(f"{better}, {tasks}", found.better, OF_THE_MODEL, "probability", tasks),
        Estimate(f"{better}, {datasets}", found.elsewhere, OF_THE_MODEL, "probability", datasets),
    ]


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


def over_datasets(first: str, elsewhere: float | Undefined) -> str:
    """What is known of other datasets."""
    if isinstance(elsewhere, Undefined):
        return f"About other datasets nothing can be said: {elsewhere.reason}."
    return f"On other datasets {first} is truly better with probability {chance_words(elsewhere)}."
