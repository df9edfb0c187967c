"""How many tasks, classes and datasets would be needed to settle the top of a board."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from anyshot_scoring.reliability.components import DRAWS, Components, draw_components
from anyshot_scoring.undefined import Undefined

Range = tuple[int, int] | Undefined


@dataclass(frozen=True)
class SampleSizePlan:
    """What would settle the first `top` places: every neighbouring pair flips in at most `flip`.

    `tasks` and `classes` are a dataset's, for the datasets at hand (these fixed, so that their own variance does not
    count); `datasets` are new ones with as many classes and tasks each as now. Each has its 95 % range. Undefined where
    no number is enough. `now` is the largest share of flips over other datasets, as things are. `leads` are those of
    the pairs, by the mean of `runs` (1: by the runs that count, each task once), `units` the tasks and classes a
    dataset, over these runs, and the datasets now.
    """

    top: int
    flip: float
    tasks: int | Undefined
    classes: int | Undefined
    datasets: int | Undefined
    now: float
    datasets_interval: Range
    tasks_interval: Range
    classes_interval: Range
    leads: tuple[float, ...] = ()
    units: tuple[float, float, int] = (0.0, 0.0, 0)
    runs: int = 1


def plan_top(pairs: Sequence[Components], flip: float = 0.05, *, known_leads: bool = False) -> SampleSizePlan:
    """How many units settle the neighbouring pairs 1-2, 2-3, ... (as many as are given).

    With `known_leads` the leads are true ones that somebody asks about, and variances alone are uncertain.
    """
    fixed = [replace(pair, dataset=0.0) for pair in pairs]
    z = float(special.ndtri(1 - flip))
    tasks, classes = (_largest([_solve(pair, z, unit) for pair in fixed]) for unit in ("task", "klass"))
    return SampleSizePlan(
        top=len(pairs),
        flip=flip,
        tasks=tasks,
        classes=classes,
        datasets=_largest([_solve(pair, z, "dataset") for pair in pairs]),
        now=max((pair.flip() for pair in pairs), default=0.0),
        datasets_interval=_range_of_datasets(pairs, z, known_leads),
        tasks_interval=_range_within(pairs, z, known_leads, "task", tasks),
        classes_interval=_range_within(pairs, z, known_leads, "klass", classes),
        leads=tuple(pair.lead for pair in pairs),
        units=(pairs[0].tasks, pairs[0].classes, pairs[0].datasets) if pairs else (0.0, 0.0, 0),
    )


def _range_of_datasets(pairs: Sequence[Components], z: float, known_leads: bool) -> Range:
    """95 %: how many new datasets are needed, if lead and variance were as uncertain as the datasets at hand say.

    The variance is a scaled inverse chi-square, the lead a normal around the lead seen, or as it is where it is known;
    of several pairs the largest need counts.
    """
    if not pairs or min(pair.datasets for pair in pairs) < 3:
        return Undefined("fewer than three datasets do not tell how datasets vary")
    rng, needs = np.random.default_rng(0), np.zeros(DRAWS)
    for pair in pairs:
        freedom = pair.datasets - 1 if pair.moments is None else pair.moments.freedom[0]
        variance = pair.variance(datasets=1) * freedom / rng.chisquare(freedom, DRAWS)
        lead = _leads(pair, variance / pair.datasets, known_leads, rng)
        needs = np.maximum(needs, variance * (z / np.maximum(np.abs(lead), 1e-12)) ** 2)
    low, high = np.ceil(np.quantile(needs, [0.025, 0.975])).clip(1, 1e9)
    return int(low), int(high)


def _range_within(
    pairs: Sequence[Components], z: float, known_leads: bool, unit: str, found: int | Undefined
) -> Range:
    """95 %: how many tasks or classes of the datasets at hand are needed, by redrawn components."""
    if isinstance(found, Undefined) or not pairs:
        return found if isinstance(found, Undefined) else Undefined("there is no lead to settle")
    if any(pair.moments is None for pair in pairs):
        return Undefined("assumed, not estimated")
    rng, needs = np.random.default_rng(0), np.ones(DRAWS)
    for pair in pairs:
        drawn = draw_components(pair, rng)
        parts = {"task": drawn["task"] / pair.tasks, "klass": drawn["klass"] / pair.classes}
        lead = _leads(pair, (parts["task"] + parts["klass"]) / pair.datasets, known_leads, rng)
        room = (lead / z) ** 2 * pair.datasets - parts["klass" if unit == "task" else "task"]
        with np.errstate(divide="ignore", invalid="ignore"):
            needs = np.maximum(needs, np.where(room > 0, np.ceil(drawn[unit] / room), np.inf))
    low = float(np.quantile(needs, 0.025, method="lower"))
    high = float(np.quantile(needs, 0.975, method="higher"))
    if np.isinf(high):
        more = (
            "no number may be enough" if np.isinf(low) else f"from {low:,.0f} on, and no number may be enough"
        )
        return Undefined(more)
    return int(low), int(min(high, 1e9))


def _leads(
    pair: Components, variance: NDArray[np.float64], known: bool, rng: np.random.Generator
) -> NDArray[np.float64]:
    """The lead as it is known, or normal around the one seen."""
    doubt = np.zeros_like(variance) if known else np.sqrt(variance)
    return pair.lead + doubt * rng.standard_normal(len(variance))


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
