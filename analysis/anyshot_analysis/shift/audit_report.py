"""Organizer's report.

How many classes the tasks of a phase see, and whether that makes two samples of tasks disjoint.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.jobs.options import ProtocolDict
from anyshot_analysis.pages import PageTable, ReportPage
from anyshot_analysis.shift.disjointness import (
    classes_variance,
    enough_tasks,
    expected_classes,
    many_classes_expectation,
    many_classes_tail,
    ordered_tasks,
    spread,
    unordered_tasks,
)
from anyshot_analysis.undefined import Undefined
from anyshot_core.charts import Bar, draw_bars, draw_curves
from anyshot_core.data.pool import Pool
from anyshot_core.protocols import AnyWayAnyShot, FixedWaysShots, Protocol, protocol_from_dict
from anyshot_core.report.estimates import Estimate, exact, resampled
from anyshot_core.wire.reports import Audit
from anyshot_scoring.summary import Group

PROTOCOL = {"name": "fixed", "ways": 5, "shots": 1, "query": 1}
DRAWN = 2_000  # tasks by which the chances of classes are estimated where no formula has them


class Parameters(Audit):
    """`tasks` of the whole phase, which its datasets share; `protocol` draws them; `rho`: the risk of disjoint sets."""

    protocol: ProtocolDict = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default_factory=lambda: dict(PROTOCOL)
    )
    rho: Annotated[float, Field(description="Risk of two samples of tasks that share no class.")] = 0.01

    def model_post_init(self, context: object, /) -> None:
        if self.tasks < 1:
            raise BadAnalysis("the number of tasks is positive")


@dataclass(frozen=True)
class DatasetShare:
    """A dataset: the chance of each class to be in a task `[L]`, mean ways, and its share of the phase's tasks."""

    name: str
    inclusion: NDArray[np.float64]
    tasks: int
    drawn: bool = False  # whether the chances were estimated by drawing

    @property
    def ways(self) -> float:
        """Mean number of ways."""
        return float(self.inclusion.sum())

    @property
    def expected(self) -> float:
        """Classes that the tasks are expected to see."""
        return expected_classes(self.inclusion, self.tasks)

    @property
    def miss(self) -> float:
        """Bound of the probability that the tasks miss a class: the sum over classes."""
        return min(1.0, float(((1.0 - self.inclusion) ** self.tasks).sum()))


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Count, dataset by dataset."""
    pool, protocol = inputs.test_pool, protocol_from_dict(parameters.protocol)
    protocol.check(pool)
    found = [
        DatasetShare(
            pack.name,
            inclusion_of(protocol, pool, place),
            parameters.tasks // len(pool),  # datasets come in turn
            not is_uniform(protocol),
        )
        for place, pack in enumerate(pool)
    ]
    return describe(found, parameters, overlap_words(inputs))


def is_uniform(protocol: Protocol) -> bool:
    """Whether a formula has the chances of classes: tuples of classes are uniform."""
    return type(protocol) in (AnyWayAnyShot, FixedWaysShots)


def inclusion_of(protocol: Protocol, pool: Pool, dataset: int) -> NDArray[np.float64]:
    """Chance of each class of a dataset to be in a task of it: by formula for uniform tuples, else by drawing."""
    classes = len(pool[dataset].classes)
    if is_uniform(protocol):
        ways = protocol.ways.capped(classes, least=2)  # pyright: ignore[reportAttributeAccessIssue]
        return np.full(classes, (ways.low + ways.high) / 2 / classes)
    own = pool.subset([dataset])
    drawn = np.concatenate([protocol.task(own, 0, index).classes for index in range(DRAWN)])
    chances = np.bincount(drawn, minlength=classes) / DRAWN
    return chances[chances > 0]  # the classes of other parts of a split are in no task


def overlap_words(inputs: Inputs) -> str:
    """Whether training and test tasks can have classes in common at all."""
    if not (inputs.files.get("meta_train") and inputs.files.get("meta_test")):
        return ""
    both = sorted(set(inputs.train_pool.names) & set(inputs.test_pool.names))
    if both:
        return f"In both pools by name: {', '.join(both)}. Only a protocol that splits classes keeps these apart."
    return "Out of distribution by construction: no dataset is in the meta-train and in the meta-test pool."


def describe(found: list[DatasetShare], parameters: Parameters, overlap: str) -> ReportPage:
    """Set the found figures on a page: finding, tables, charts and what they are of."""
    needed = {s.name: tasks_needed(s, parameters.rho) for s in found}
    rows = [
        [
            s.name,
            len(s.inclusion),
            s.ways,
            s.tasks,
            s.expected,
            spread_of(s, parameters),
            s.miss,
            needed[s.name],
            *counts(s),
        ]
        for s in found
    ]
    least = max(s.tasks for s in found)
    grid = sorted({*np.unique(np.geomspace(1, max(10, least), 16).astype(int)).tolist()})
    curves = {
        s.name: [Group(t, expected_classes(s.inclusion, t) / len(s.inclusion), None, t) for t in grid]
        for s in found
    }
    return ReportPage(
        name="audit",
        title="Which classes the tasks see",
        finding=finding_of(found, parameters.tasks),
        population=f"{POPULATION}; expected values, no task is drawn for them.",
        estimates=[one for s in found for one in estimates_of(s)],
        charts=[
            draw_curves(
                curves,
                "Expected share of the classes seen",
                "tasks of the dataset",
                "Share of classes",
                intervals=False,
            ),
            draw_bars(
                [Bar(n, v) for n, v in needed.items()],
                f"Tasks from which on disjoint sets of classes are rarer than {parameters.rho}",
                "Tasks",
                intervals=False,
            ),
        ],
        listings=[PageTable("By dataset", HEADER, rows), few_seen(found)],
        notes=[
            f"{parameters.tasks} tasks, datasets in turn; protocol: {protocol_words(parameters.protocol)}.",
            "Disjoint: two samples of tasks of one dataset that share no class. That is far rarer than that a sample "
            "misses some class, whose probability has a column of its own (a bound: the sum over classes).",
            *([overlap] if overlap else []),
        ],
        result={
            "tasks": {s.name: s.tasks for s in found},
            "classes": {s.name: len(s.inclusion) for s in found},
            "ways": {s.name: s.ways for s in found},
            "expected_seen": {s.name: s.expected for s in found},
            "miss_bound": {s.name: s.miss for s in found},
            "enough_tasks": needed,
            "pools": overlap,
        },
        table={
            "dataset": [s.name for s in found],
            "classes": [len(s.inclusion) for s in found],
            "tasks": [s.tasks for s in found],
            "expected_seen": [s.expected for s in found],
            "enough_tasks": [needed[s.name] for s in found],
        },
    )


POPULATION = "tasks that this protocol draws from these datasets"


def estimates_of(seen: DatasetShare) -> list[Estimate]:
    """Classes seen and the risk of missing one: exact by formula, else with the error of the drawn chances."""
    names = f"classes of {seen.name} seen, expected", f"a class of {seen.name} is missed, at most"
    if not seen.drawn:
        return [
            exact(names[0], seen.expected, "classes", POPULATION),
            exact(names[1], seen.miss, "probability", POPULATION),
        ]
    redrawn = np.random.default_rng(0).binomial(DRAWN, seen.inclusion, (400, len(seen.inclusion))) / DRAWN
    others = [DatasetShare(seen.name, chances, seen.tasks) for chances in redrawn]
    return [
        resampled(names[0], seen.expected, [s.expected for s in others], "classes", POPULATION),
        resampled(names[1], seen.miss, [s.miss for s in others], "probability", POPULATION),
    ]


HEADER = (
    "dataset",
    "classes",
    "ways, mean",
    "tasks",
    "classes seen, expected",
    "their sd",
    "P(a class is missed) at most",
    "tasks against disjoint sets",
    "tasks of so many ways, ordered",
    "sets of so many classes",
)


def tasks_needed(seen: DatasetShare, rho: float) -> int:
    """ln(4 / rho) L / (gamma n), with the spread gamma of the classes' chances."""
    ways = max(1, round(seen.ways))
    return math.ceil(enough_tasks(len(seen.inclusion), ways, spread(seen.inclusion), rho))


def counts(seen: DatasetShare) -> list[int]:
    """How many different tasks there are, ordered and as sets, at the mean number of ways."""
    ways = max(1, round(seen.ways))
    return [ordered_tasks(len(seen.inclusion), ways), unordered_tasks(len(seen.inclusion), ways)]


def spread_of(seen: DatasetShare, parameters: Parameters) -> float | Undefined:
    """Standard deviation of the number of classes seen, exactly, where tuples of classes are uniform."""
    protocol = protocol_from_dict(parameters.protocol)
    if seen.drawn or not isinstance(protocol, AnyWayAnyShot | FixedWaysShots):
        return Undefined("known for uniform tuples of classes alone")
    ways = protocol.ways.capped(len(seen.inclusion), least=2)
    return math.sqrt(classes_variance(len(seen.inclusion), range(ways.low, ways.high + 1), seen.tasks))


def few_seen(found: list[DatasetShare]) -> PageTable:
    """The bounds for many classes and few tasks (In vs. Out of Distribution, theorem 4)."""
    rows: list[list[Any]] = []
    for s in found:
        classes, ways, gamma = len(s.inclusion), max(1, round(s.ways)), spread(s.inclusion)
        tail = many_classes_tail(classes, ways, gamma, s.tasks, 0.5)
        rows.append([s.name, gamma, many_classes_expectation(classes, ways, gamma, s.tasks), tail])
    header = ("dataset", "gamma", "classes seen, at least", "P(half of that or fewer) at most")
    return PageTable("Many classes, few tasks (theorem 4)", header, rows)


def protocol_words(protocol: Mapping[str, Any]) -> str:
    """Name and settings, without the secrets that tasks and splits are drawn from."""
    return ", ".join(f"{key} {value}" for key, value in sorted(protocol.items()) if not key.endswith("_seed"))


def finding_of(found: list[DatasetShare], tasks: int) -> str:
    """Which dataset's classes are seen least."""
    least = min(found, key=lambda s: s.expected / len(s.inclusion))
    part = least.expected / len(least.inclusion)
    most = (
        "at least " if tasks % len(found) else ""
    )  # which datasets have one more is in the key of the tasks
    each = f"{tasks} tasks over {len(found)} datasets are {most}{least.tasks} a dataset"
    if part > 0.9995:
        return f"{each}, which are expected to see all classes of every dataset."
    return f"{each}, which are expected to see {part:.1%} of the classes of {least.name}, the least seen."
