"""Where the difference of two submissions varies: between datasets, classes and tasks, each with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from anyshot_scoring.reliability.matrix import ClassMatrix, ScoreMatrix
from anyshot_scoring.undefined import Undefined

DRAWS = 4_000
UNITS = ("dataset", "klass", "task")


@dataclass(frozen=True)
class Moments:
    """The mean squares that components come from, each with its degrees of freedom.

    `datasets` is the variance of the means of datasets, `classes` that of the means of classes within them, of which
    `noise` is owed to tasks; `task` is that of tasks within datasets. `freedom` is of datasets, classes, tasks.
    """

    datasets: float
    classes: float
    noise: float
    task: float
    freedom: tuple[int, int, int]


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


def estimate_components(
    matrix: ScoreMatrix, first: str, second: str, classes: ClassMatrix | None = None
) -> Components | Undefined:
    """Estimate the components by the method of moments from the differences on the common tasks.

    task: pooled variance within datasets. klass: variance of the class means within datasets, less the noise of the
    tasks in them. dataset: variance of the dataset means, less what classes and tasks add. Negative estimates are 0.
    """
    difference = matrix.column(first) - matrix.column(second)
    n = np.bincount(matrix.dataset, minlength=len(matrix.datasets)).astype(float)
    if (n < 2).any():
        return Undefined("a dataset has a single task")
    means = np.bincount(matrix.dataset, difference) / n
    task = float(np.sum((difference - means[matrix.dataset]) ** 2) / np.sum(n - 1))
    between, noise, members, free = 0.0, 0.0, 1.0, 0
    if classes is not None:
        pair = classes.keys.index(first), classes.keys.index(second)
        between, noise, members, free = _class_moments(classes, pair)
    of_datasets = float(means.var(ddof=1)) if len(n) > 1 else 0.0
    moments = Moments(of_datasets, between, noise, task, (len(n) - 1, free, int(np.sum(n - 1))))
    klass, tasks = max(0.0, between - noise), _harmonic_mean(n)
    return Components(
        lead=abs(float(difference.mean())),
        dataset=max(0.0, of_datasets - klass / members - task / tasks),
        klass=klass,
        task=task,
        datasets=len(n),
        classes=members,
        tasks=tasks,
        moments=moments,
    )


def draw_components(pair: Components, rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    """What the components may be, by `UNITS`, given their mean squares, `[DRAWS]` each.

    Generalized intervals (Weerahandi 1993): each mean square is a scaled chi-square, and the components follow from
    redrawn ones as they do from those seen.
    """
    seen = pair.moments
    assert seen is not None  # who asks has looked
    spread, classes, task = (
        value * free / rng.chisquare(free, DRAWS) if free > 0 else np.full(DRAWS, value)
        for value, free in zip((seen.datasets, seen.classes, seen.task), seen.freedom, strict=True)
    )
    klass = np.maximum(0.0, classes - seen.noise)
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


def _class_moments(classes: ClassMatrix, pair: tuple[int, int]) -> tuple[float, float, float, int]:
    """Variance of class means within datasets, the part of it that is noise, mean number of classes, freedom.

    What a class's own tasks add to the spread of class means is estimated from the seeded runs, where there are
    several; with a single run it stays in, which is on the safe side.
    """
    by_run = (classes.sums[:, :, pair[0]] - classes.sums[:, :, pair[1]]) / np.maximum(classes.shares, 1e-300)
    weights = classes.shares.sum(axis=0)
    means = (classes.sums[:, :, pair[0]] - classes.sums[:, :, pair[1]]).sum(axis=0) / weights
    counts = np.bincount(classes.dataset).astype(float)
    if (counts < 2).any():
        return 0.0, 0.0, _harmonic_mean(counts), 0
    centers = np.bincount(classes.dataset, means) / counts
    free = int(np.sum(counts - 1))
    between = float(np.sum((means - centers[classes.dataset]) ** 2) / free)
    return between, _noise_of_means(by_run, classes.shares), _harmonic_mean(counts), free


def _harmonic_mean(counts: NDArray[Any]) -> float:
    return 1 / float(np.mean(1 / counts))


def _noise_of_means(by_run: NDArray[Any], shares: NDArray[Any]) -> float:
    """Mean over the classes of the variance of a class's mean over runs, 0 for a single run."""
    full = (shares > 0).all(axis=0)
    if len(by_run) < 2 or not full.any():
        return 0.0
    return float((by_run[:, full].var(axis=0, ddof=1) / len(by_run)).mean())
