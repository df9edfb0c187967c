"""How many tasks, classes and datasets would be needed to settle the top of a board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from anyshot_scoring.reliability.matrix import ClassMatrix, ScoreMatrix
from anyshot_scoring.undefined import Undefined


@dataclass(frozen=True)
class Components:
    """Where the difference of two submissions varies: `lead` >= 0 and variances of one draw of each kind.

    The variance of the mean difference over D datasets with L classes and n tasks each is
    (dataset + klass / L + task / n) / D. `klass` is 0 where classes are not known.
    """

    lead: float
    dataset: float
    klass: float
    task: float
    datasets: int
    classes: float
    tasks: float

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


@dataclass(frozen=True)
class SampleSizePlan:
    """What would settle the first `top` places: every neighbouring pair flips in at most `flip`.

    `tasks` and `classes` are a dataset's, for the datasets at hand (these fixed, so that their own variance does not
    count); `datasets` are new ones with as many classes and tasks each as now, `datasets_interval` its 95 %
    range. Undefined where no number is enough.
    """

    top: int
    flip: float
    tasks: int | Undefined
    classes: int | Undefined
    datasets: int | Undefined
    now: float
    datasets_interval: tuple[int, int] | Undefined


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
    tasks, members = _harmonic_mean(n), 1.0
    klass = 0.0
    if classes is not None:
        pair = classes.keys.index(first), classes.keys.index(second)
        klass, members = _class_variance(classes, pair)
    dataset = float(means.var(ddof=1)) - klass / members - task / tasks if len(n) > 1 else 0.0
    return Components(
        lead=abs(float(difference.mean())),
        dataset=max(0.0, dataset),
        klass=klass,
        task=task,
        datasets=len(n),
        classes=members,
        tasks=tasks,
    )


def plan_top(pairs: Sequence[Components], flip: float = 0.05, *, known_leads: bool = False) -> SampleSizePlan:
    """How many units settle the neighbouring pairs 1-2, 2-3, ... (as many as are given).

    With `known_leads` the leads are true ones that somebody asks about, and variances alone are uncertain.
    """
    fixed = [replace(pair, dataset=0.0) for pair in pairs]
    z = float(special.ndtri(1 - flip))
    return SampleSizePlan(
        top=len(pairs),
        flip=flip,
        tasks=_largest([_solve(pair, z, "task") for pair in fixed]),
        classes=_largest([_solve(pair, z, "klass") for pair in fixed]),
        datasets=_largest([_solve(pair, z, "dataset") for pair in pairs]),
        now=max((pair.flip() for pair in pairs), default=0.0),
        datasets_interval=_need_interval(pairs, z, known_leads),
    )


def _need_interval(
    pairs: Sequence[Components], z: float, known_leads: bool, draws: int = 4_000
) -> tuple[int, int] | Undefined:
    """95 %: how many new datasets are needed, if lead and variance were as uncertain as the datasets at hand say.

    The variance is a scaled inverse chi-square, the lead a normal around the lead seen, or as it is where it is known;
    of several pairs the largest need counts.
    """
    if not pairs or min(pair.datasets for pair in pairs) < 3:
        return Undefined("fewer than three datasets do not tell how datasets vary")
    rng, needs = np.random.default_rng(0), np.zeros(draws)
    for pair in pairs:
        variance = pair.variance(datasets=1) * (pair.datasets - 1) / rng.chisquare(pair.datasets - 1, draws)
        doubt = 0.0 if known_leads else np.sqrt(variance / pair.datasets)
        lead = pair.lead + doubt * rng.standard_normal(draws)
        needs = np.maximum(needs, variance * (z / np.maximum(np.abs(lead), 1e-12)) ** 2)
    low, high = np.ceil(np.quantile(needs, [0.025, 0.975])).clip(1, 1e9)
    return int(low), int(high)


def _solve(pair: Components, z: float, unit: str) -> int | Undefined:
    """The smallest count of one unit at which lead >= z sd, the other counts as they are."""
    if pair.lead == 0.0:
        return Undefined("two submissions have the same score")
    allowed = (pair.lead / z) ** 2
    if unit == "dataset":
        return max(1, int(np.ceil(pair.variance(datasets=1) / allowed - 1e-9)))
    if unit == "klass" and pair.klass == 0.0:
        return Undefined("no variance between classes was found, or the classes are not known")
    own = pair.task if unit == "task" else pair.klass
    rest = pair.klass / pair.classes if unit == "task" else pair.task / pair.tasks
    room = allowed * pair.datasets - rest
    if room <= 0:
        other = "classes" if unit == "task" else "tasks"
        return Undefined(f"the noise of the {other} alone is larger than the lead allows")
    return max(1, int(np.ceil(own / room - 1e-9)))


def _largest(counts: Sequence[int | Undefined]) -> int | Undefined:
    reasons = [count for count in counts if isinstance(count, Undefined)]
    if reasons:
        return reasons[0]
    return max((count for count in counts if not isinstance(count, Undefined)), default=1)


def _class_variance(classes: ClassMatrix, pair: tuple[int, int]) -> tuple[float, float]:
    """Variance between the classes of a dataset, and the harmonic mean of the datasets' numbers of classes.

    What a class's own tasks add to the spread of class means is estimated from the seeded runs, where there are
    several; with a single run it stays in, which is on the safe side.
    """
    by_run = (classes.sums[:, :, pair[0]] - classes.sums[:, :, pair[1]]) / np.maximum(classes.shares, 1e-300)
    weights = classes.shares.sum(axis=0)
    means = (classes.sums[:, :, pair[0]] - classes.sums[:, :, pair[1]]).sum(axis=0) / weights
    counts = np.bincount(classes.dataset).astype(float)
    if (counts < 2).any():
        return 0.0, _harmonic_mean(counts)
    centers = np.bincount(classes.dataset, means) / counts
    between = float(np.sum((means - centers[classes.dataset]) ** 2) / np.sum(counts - 1))
    return max(0.0, between - _noise_of_means(by_run, classes.shares)), _harmonic_mean(counts)


def _harmonic_mean(counts: np.ndarray) -> float:
    return 1 / float(np.mean(1 / counts))


def _noise_of_means(by_run: NDArray[Any], shares: NDArray[Any]) -> float:
    """Mean over the classes of the variance of a class's mean over runs, 0 for a single run."""
    full = (shares > 0).all(axis=0)
    if len(by_run) < 2 or not full.any():
        return 0.0
    return float((by_run[:, full].var(axis=0, ddof=1) / len(by_run)).mean())
