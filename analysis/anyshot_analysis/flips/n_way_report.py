"""Conclusion flips between two submissions over sets of classes, by the n-way tasks that lie within each set."""

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.pages import PageTable, ReportPage, points
from anyshot_core.charts import draw_distributions
from anyshot_core.report.estimates import Estimate, mean, share
from anyshot_core.report.storage import percent_words
from anyshot_core.wire.reports import NWayFlips
from anyshot_scoring.predictions import ClassTable
from anyshot_scoring.reliability import NotComparable, align
from anyshot_scoring.reliability.flips import FEWEST_SUBSETS
from anyshot_scoring.reliability.matrix import ScoreMatrix
from anyshot_scoring.reliability.n_way_flips import TaskFlips, flips_over_tasks
from anyshot_scoring.reliability.shared_tasks import mean_of_runs
from anyshot_scoring.undefined import Undefined


class Parameters(NWayFlips):
    """`share` of each dataset's classes makes a set; `draws` sets are drawn; `names` to show by submission."""

    def model_post_init(self, context: object, /) -> None:
        if not 0 < self.share < 1:
            raise BadAnalysis("share is a part of the classes, between 0 and 1")
        if self.draws < FEWEST_SUBSETS:
            raise BadAnalysis(f"at least {FEWEST_SUBSETS:,} draws: fewer carry points of noise")


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Judge two submissions by the tasks within each set of classes."""
    tables = inputs.results
    if len(tables) != 2:
        raise BadAnalysis(f"a flip is between two submissions, found {len(tables)}: {', '.join(tables)}")
    if inputs.classes is None:
        raise BadAnalysis(
            "which classes a task has is known from its predictions: give those of the same runs"
        )
    try:
        matrix = align(tables)
    except NotComparable as error:
        raise BadAnalysis(f"the two were not tested on the same tasks: {error}") from error
    matrix = mean_of_runs(matrix) if inputs.shares_tasks else matrix
    one, two = matrix.keys
    gaps = matrix.column(one) - matrix.column(two)
    classes = classes_of(matrix, inputs.classes[one])
    names = np.array(matrix.datasets)[matrix.dataset]
    found = flips_over_tasks(
        gaps, classes, names, parameters.share, sets=parameters.draws, seed=parameters.seed
    )
    if isinstance(found, Undefined):
        raise BadAnalysis(found.reason)
    progress("Drawing classes", 1, 1)
    first, second = (one, two) if found.first_leads else (two, one)
    names_of = parameters.names
    shown = names_of.get(first, first), names_of.get(second, second)
    return describe(found, shown, counts_of(classes, names), len(classes), parameters)


def classes_of(matrix: ScoreMatrix, runs: list[ClassTable]) -> list[NDArray[np.int64]]:
    """Class numbers of each task of the matrix. Raises `BadAnalysis` where they are not known."""
    if not all(table.known for table in runs):
        raise BadAnalysis("the predictions do not say which classes the tasks have")
    known = {
        (run, int(task)): table.class_id[table.task == task]
        for run, table in enumerate(runs)
        for task in np.unique(table.task)
    }
    return [known[int(run), int(task)] for run, task in zip(matrix.run, matrix.task, strict=True)]


def counts_of(classes: list[NDArray[np.int64]], names: NDArray[np.str_]) -> dict[str, int]:
    """How many classes of each dataset were met."""
    return {
        str(name): len(np.unique(np.concatenate([classes[i] for i in np.flatnonzero(names == name)])))
        for name in np.unique(names)
    }


def describe(
    found: TaskFlips, pair: tuple[str, str], counts: dict[str, int], tasks: int, p: Parameters
) -> ReportPage:
    """The page; the first of the pair leads, by those of the `tasks` whose classes fit into a set."""
    first, second = pair
    sets = len(found.differences)
    over = f"other sets of {p.share:.0%} of the classes of each dataset, judged by the tasks within them"
    claims = {one.name: one for one in estimates_of(found, sets, over)}
    return ReportPage(
        name="n-way-flips",
        title=f"Flips of {first} and {second} over sets of classes",
        finding=f"{first} leads {second} by {points(found.lead)} points, datasets alike, on {_fitting(found, tasks)}. "
        f"Judged by the tasks within {p.share:.0%} of "
        f"each dataset's classes, the order flips for {percent_words(claims['flips'])} of the sets; with as many tasks "
        f"of any classes, for {percent_words(claims['flips by few tasks alone'])}.",
        population=f"{over}; {sets:,} sets drawn out of the classes that were met.",
        estimates=list(claims.values()),
        charts=[
            draw_distributions(
                {f"{first} minus {second}": 100 * found.differences},
                "Differences over sets of classes",
                "Difference (points)",
                unit="sets",
            )
        ],
        listings=[
            PageTable(
                "Classes",
                ("dataset", "met", "in a set"),
                [[name, count, max(1, round(p.share * count))] for name, count in counts.items()],
            )
        ],
        notes=[
            f"A set of classes is judged by {found.tasks:g} of {found.of} tasks (median): those of which every class "
            "is in it. Tasks of fewer ways are within a set more often, and weigh less for it. "
            f"Exaggeration: the lead is larger than on {_fitting(found, tasks)} by over half a point.",
            "With as many tasks of any classes: what flips because a set holds few tasks. Only flips beyond these are "
            "owed to the classes.",
            *(
                [f"Sets in which a dataset had no task, {found.empty:.1%}, are left out."]
                if found.empty
                else []
            ),
        ],
        result={
            "lead": found.lead,
            "leader": first,
            "flip": found.flip,
            "exaggeration": found.exaggeration,
            "tie": found.tie,
            "task_noise": {"flip": found.noise_flip, "exaggeration": found.noise_exaggeration},
            "tasks": found.tasks,
            "of": found.of,
            "sets": sets,
        },
        table={"difference": found.differences},
    )


def _fitting(found: TaskFlips, tasks: int) -> str:
    """By which tasks: one of more ways than a set has classes of its dataset is in none."""
    return (
        f"all {tasks} tasks"
        if found.of == tasks
        else f"the {found.of} of {tasks} tasks whose classes fit into a set"
    )


def estimates_of(found: TaskFlips, sets: int, over: str) -> list[Estimate]:
    """Flips and exaggerations, by classes and by the few tasks alone, with Wilson's intervals over sets."""
    tasks = "as many tasks of any classes"
    return [
        share("flips", round(found.flip * sets), sets, over),
        share("exaggerations", round(found.exaggeration * sets), sets, over),
        mean("lead within a set", found.differences, "points", over, scale=100),
        share("flips by few tasks alone", round(found.noise_flip * sets), sets, tasks),
        share("exaggerations by few tasks alone", round(found.noise_exaggeration * sets), sets, tasks),
    ]
