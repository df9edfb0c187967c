"""Where the difference of two submissions varies: between datasets, classes and tasks, each with its interval.

Read off the one model of the board: what tasks, classes and datasets do to a difference is estimated from all of its
submissions, each pair being drawn towards the others by as much as the few units demand.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from anyshot_scoring.reliability.crossed_model import CrossedFit, MeanSquare
from anyshot_scoring.reliability.matrix import ClassMatrix, ScoreMatrix
from anyshot_scoring.reliability.shared_tasks import classes_counted_once, counted_once
from anyshot_scoring.rules import Rule
from anyshot_scoring.undefined import Undefined

DRAWS = 4_000
UNITS = ("dataset", "klass", "task")


@dataclass(frozen=True)
class Moments:
    """The mean squares that components come from, each with its degrees of freedom.

    `datasets` is the variance of the means of datasets over the runs, `classes` that of classes within them, without
    what is owed to their tasks; `task` is that of tasks within datasets. `freedom` is of datasets, classes, tasks.
    """

    datasets: float
    classes: float
    task: float
    freedom: tuple[float, float, float]


@dataclass(frozen=True)
class Components:
    """Where the difference of two submissions varies: `lead` >= 0 and variances of one draw of each kind.

    The variance of the mean difference over D datasets with L classes and n tasks each is
    (dataset + klass / L + task / n) / D. `klass` is 0 where classes are not known. `moments` are there where it was
    estimated, and not assumed.
    """

    lead: float
    dataset: float
    klass: float
    task: float
    datasets: int
    classes: float
    tasks: float
    moments: Moments | None = None

    def flip(
        self, datasets: float | None = None, classes: float | None = None, tasks: float | None = None
    ) -> float:
        """Probability of the opposite order under another draw of all three (None: as many as now)."""
        spread = np.sqrt(self.variance(datasets, classes, tasks))
        if spread == 0.0:
            return 0.0 if self.lead > 0 else 0.5
        return float(special.ndtr(-self.lead / spread))

    def variance(
        self, datasets: float | None = None, classes: float | None = None, tasks: float | None = None
    ) -> float:
        """Variance of the mean difference; counts of classes and tasks are a dataset's."""
        d, c, n = datasets or self.datasets, classes or self.classes, tasks or self.tasks
        return (self.dataset + self.klass / c + self.task / n) / d


def each_task_once(
    matrix: ScoreMatrix, classes: ClassMatrix | None, rule: Rule, *, shared_tasks: bool
) -> tuple[ScoreMatrix, ClassMatrix | None]:
    """Tasks and classes by the runs that count, each once, where the runs met the same tasks; else as they are."""
    if not shared_tasks:
        return matrix, classes
    return counted_once(matrix, rule), None if classes is None else classes_counted_once(
        classes, matrix, rule
    )


def estimate_components(
    fit: CrossedFit, matrix: ScoreMatrix, first: str, second: str, classes: ClassMatrix | None = None
) -> Components | Undefined:
    """The components of two submissions by the model of their board, whose scores are `matrix`, and its lead.

    They speak of the mean of the runs of `matrix`: a task that all of them met is one task, with their mean.
    """
    squares = fit.squares
    if not squares.own_tasks.known:
        return Undefined("a dataset has a single task")
    contrast = fit.axes[matrix.keys.index(first)] - fit.axes[matrix.keys.index(second)]

    def size(square: MeanSquare) -> float:
        return float(contrast @ square.value @ contrast)

    cell, runs = _harmonic_mean(fit.sizes[fit.sizes > 0]), squares.runs
    shared = squares.shared_tasks.known
    task = cell * (size(squares.shared_tasks) + size(squares.own_tasks) / (runs if shared else 1))
    tasks = cell if shared else cell * runs
    members = 1.0 if classes is None else _harmonic_mean(np.bincount(classes.dataset))
    klass, of_datasets = size(squares.by_class) * members, size(squares.by_dataset)
    freedom = (
        squares.by_dataset.freedom,
        squares.by_class.freedom,
        (squares.shared_tasks if shared else squares.own_tasks).freedom,
    )
    return Components(
        lead=abs(float((matrix.column(first) - matrix.column(second)).mean())),
        dataset=max(0.0, of_datasets - klass / members - task / tasks),
        klass=klass,
        task=task,
        datasets=len(matrix.datasets),
        classes=members,
        tasks=tasks,
        moments=Moments(of_datasets, klass, task, freedom),
    )


def draw_components(pair: Components, rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    """What the components may be, by `UNITS`, given their mean squares, `[DRAWS]` each.

    Generalized intervals (Weerahandi 1993): each mean square is a scaled chi-square, and the components follow from
    redrawn ones as they do from those seen.
    """
    seen = pair.moments
    assert seen is not None  # who asks has looked
    spread, klass, task = (
        value * free / rng.chisquare(free, DRAWS) if free > 0 else np.full(DRAWS, value)
        for value, free in zip((seen.datasets, seen.classes, seen.task), seen.freedom, strict=True)
    )
    dataset = np.maximum(0.0, spread - klass / pair.classes - task / pair.tasks)
    return {"dataset": dataset, "klass": klass, "task": task}


def component_intervals(pair: Components) -> dict[str, tuple[float, float] | Undefined]:
    """95 % intervals of the three variances, by `UNITS`."""
    if pair.moments is None:
        return dict.fromkeys(UNITS, Undefined("assumed, not estimated"))
    drawn = draw_components(pair, np.random.default_rng(0))
    return {
        unit: _interval(drawn[unit]) if free > 0 else Undefined(WHY_NONE[unit])
        for unit, free in zip(UNITS, pair.moments.freedom, strict=True)
    }


WHY_NONE = {
    "dataset": "a single dataset says nothing about others",
    "klass": "the files do not say which classes the tasks have",
    "task": "a single task says nothing about others",
}


def _interval(drawn: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def _harmonic_mean(counts: NDArray[Any]) -> float:
    return 1 / float(np.mean(1 / counts))
