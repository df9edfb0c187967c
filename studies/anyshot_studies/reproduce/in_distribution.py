"""Four methods in distribution (unseen writers, unseen pairs of attributes) and out of it (unseen classes)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.pages import PageTable, ReportPage
from anyshot_analysis.readers.records import write_meta_album
from anyshot_core.charts import Bar, Chart, draw_bars, draw_curves
from anyshot_core.data.pack import SUFFIX, pack_dataset
from anyshot_core.data.pool import Pool
from anyshot_core.protocols import (
    AttributePairs,
    ClassSide,
    FixedWaysShots,
    Protocol,
    Range,
    Roles,
    Writers,
)
from anyshot_core.protocols.keys import Seed
from anyshot_core.report.estimates import Estimate, around
from anyshot_core.report.estimates import mean as mean_of
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.summary import Group
from anyshot_starting_kit.dryrun.publicdata import PublicData
from anyshot_starting_kit.runner.generators import stream_of
from anyshot_studies.reproduce.material import Material
from anyshot_studies.reproduce.stand_ins import draw_things, draw_writers
from anyshot_studies.reproduce.trained_bundles import SEED, train_and_test

METHODS = {"PN": "prototypical_networks", "Ridge": "r2d2", "SVM": "metaoptnet_svm", "FO-MAML": "fo_maml"}
WITHOUT_LOGITS = ("PN", "Ridge", "SVM")  # of tasks with any number of ways, as the paper has them
FEMNIST, ZAPPOS, MINI = "FEMNIST", "ZAPPOS", "MINIIMAGENET"
PARTS = ("_TRAIN", "_TEST")  # of miniImageNet, as `anyshot read-dataset` names them
FIVE, QUERY = Range(5, 5), 15
DRAWN_WRITERS, DRAWN_THINGS = 300, 2000


@dataclass(frozen=True)
class PaperColumn:
    """A column of the paper's tables: the data, and where pairs are drawn, their shots and how many are trained on."""

    title: str
    data: str
    shots: int = 0
    training: int = 0

    @property
    def short(self) -> str:
        """As a bar's label has room for it."""
        return f"2w{self.shots}s, {self.training} tasks" if self.training else self.title


COLUMNS = (
    PaperColumn("FEMNIST", FEMNIST),
    PaperColumn("Zappos-ID 2w10s, 1000 training tasks", ZAPPOS, 10, 1000),
    PaperColumn("Zappos-ID 2w5s, 1000 training tasks", ZAPPOS, 5, 1000),
    PaperColumn("Zappos-ID 2w5s, 250 training tasks", ZAPPOS, 5, 250),
    PaperColumn("Zappos-ID 2w5s, 50 training tasks", ZAPPOS, 5, 50),
    PaperColumn("miniImageNet 5w5s", MINI),
)
BY_TRAINING = [column for column in COLUMNS if column.shots == 5]
FEW, MANY = BY_TRAINING[-1], BY_TRAINING[0]


COLUMN = {column.title: column for column in COLUMNS}
Scores = Mapping[str, NDArray[np.float64]]  # accuracies by method, task by task
OVER = {
    FEMNIST: "other writers, each once, for these trained networks",
    ZAPPOS: "other pairs and images of these, for these trained networks",
    MINI: "other tasks of these novel classes, for these trained networks",
}
WORDS = {FEMNIST: "FEMNIST", ZAPPOS: "UT-Zappos50K", MINI: "miniImageNet"}
PUBLISHED_UNSEEN = {
    1000: 16,
    250: 153,
    50: 269,
}  # of the 5-shot benchmark, text of section 4 and appendix E.2


@dataclass(frozen=True)
class TrialSize:
    """Settings of the bundles by data, what is changed of them, and numbers of test tasks by data.

    `epochs` over the distinct training tasks; 0 for as many tasks whatever their number.
    """

    settings: Mapping[str, str]
    tasks: Mapping[str, int]
    changes: Mapping[str, Any] = field(default_factory=dict)
    epochs: int = 0
    one_core: bool = False


QUICK = {"iterations": 400, "width": 32, "stem_pool": 4, "validate_every": 100, "validation_tasks": 45}
SMALL = TrialSize(
    dict.fromkeys((FEMNIST, ZAPPOS, MINI), "quick"),
    {FEMNIST: 45, ZAPPOS: 400, MINI: 400},
    QUICK,
    one_core=True,
)
FULL = TrialSize(
    {FEMNIST: "femnist", ZAPPOS: "zappos", MINI: "two-sides"},
    {FEMNIST: 538, ZAPPOS: 25_000, MINI: 10_000},
    epochs=60,
)


def make(material: Material, size: TrialSize = SMALL) -> ReportPage:
    """Real files where the data folder has them, as `anyshot read-dataset` writes them; else what stands in."""
    sources = {name: ColumnSource.find(name, material) for name in (FEMNIST, ZAPPOS, MINI)}
    scores, unseen = {}, {}
    for column in COLUMNS:
        source = sources[column.data]
        names = WITHOUT_LOGITS if column.data == FEMNIST else tuple(METHODS)
        scores[column.title] = measure(column, source, names, size, material.cache / "in-distribution")
        if column.shots == 5:
            unseen[column.training] = count_unseen(column, source, size.tasks[ZAPPOS])
    return report(scores, unseen, {name: source.real for name, source in sources.items()}, size)


@dataclass(frozen=True)
class ColumnSource:
    """The packs of a column: one that training and test divide, or one for each; `real` if they are of real files."""

    packs: tuple[Path, ...]
    real: bool

    @classmethod
    def find(cls, name: str, material: Material) -> ColumnSource:
        """Packs are made once."""
        folders = [f"{name}{part}" for part in PARTS] if name == MINI else [name]
        found = [] if material.data is None else [material.data / one for one in folders]
        packs = material.cache / "packs"
        if found and all((one / "labels.csv").is_file() for one in found):
            return cls(tuple(pack_dataset(one, packs).path for one in found), real=True)
        return cls((_drawn(ZAPPOS if name == ZAPPOS else FEMNIST, material.cache),), real=False)

    def roles(self, column: PaperColumn) -> Roles:
        """What is trained, validated and tested by."""
        if column.data == ZAPPOS:
            among = "first" if self.real else "all"  # the paper divides Zappos' 66 attributes
            test = AttributePairs(column.shots, QUERY, among)
            return Roles(test, replace(test, distinct_tasks=column.training))
        if column.data == FEMNIST:
            return Roles(Writers(), Writers(part="meta_train"), Writers(part="meta_valid"))
        if self.real:
            return Roles(FixedWaysShots(FIVE, FIVE, QUERY))  # trained as the settings say
        novel = ClassSide(FIVE, FIVE, QUERY, side="novel", images="all")
        return Roles(novel, replace(novel, side="base", images="trained"))

    @property
    def data(self) -> PublicData:
        """As an experiment takes it."""
        return PublicData(self.packs[:-1], self.packs[-1:], generated=not self.real)


def _drawn(name: str, cache: Path) -> Path:
    pack = cache / "packs" / f"STAND_IN_{name}{SUFFIX}"
    if not pack.is_file():
        folder = cache / "drawn" / name
        if not (folder / "info.json").is_file():  # written last
            records = draw_things(DRAWN_THINGS) if name == ZAPPOS else draw_writers(DRAWN_WRITERS)
            write_meta_album(records, "all", folder, f"STAND_IN_{name}")
        pack_dataset(folder, pack)
    return pack


def measure(
    column: PaperColumn, source: ColumnSource, names: Sequence[str], size: TrialSize, folder: Path
) -> dict[str, NDArray[np.float64]]:
    """Accuracy of each method, task by task."""
    changes = dict(size.changes)
    if size.epochs and column.training:
        steps = max(1, round(column.training / 4))  # meta-batches of 4 tasks
        changes |= {"iterations": size.epochs * column.training, "epoch_steps": steps}
    tables = train_and_test(
        [METHODS[name] for name in names],
        source.data,
        source.roles(column),
        size.tasks[column.data],
        size.settings[column.data],
        changes,
        folder,
        one_core=size.one_core,
    )
    return {name: tables[METHODS[name]].accuracy for name in names}


def count_unseen(column: PaperColumn, source: ColumnSource, tests: int) -> tuple[int, int]:
    """Pairs, in either order, that training has, and those besides that the test asks for."""
    roles, pool = source.roles(column), Pool.open(source.packs, verify=False)
    train = roles.train
    assert train is not None  # pairs are trained on
    trained = pairs_of(train, pool, stream_of(train, "training", SEED), column.training)
    return len(trained), len(pairs_of(roles.test, pool, SEED, tests) - trained)


def pairs_of(protocol: Protocol, pool: Pool, seed: Seed, tasks: int) -> set[tuple[str, ...]]:
    """Names of the attributes of tasks, in alphabetical order."""
    names = [name for name in pool[0].annotations if pool[0].is_binary(name)]
    return {tuple(sorted(names[a] for a in task.classes)) for task in protocol.tasks(pool, seed, tasks)}


def report(
    scores: Mapping[str, Scores],
    unseen: Mapping[int, tuple[int, int]],
    real: Mapping[str, bool],
    size: TrialSize,
) -> ReportPage:
    """The page of both tables."""
    orders = {title: order_of(own) for title, own in scores.items()}
    drawn = [name for name, own in real.items() if not own]
    rows = [
        (title, name, i, value)
        for title, own in scores.items()
        for name, values in own.items()
        for i, value in enumerate(values.tolist())
    ]
    return ReportPage(
        name="reproduce-in-distribution",
        title="Methods in distribution and out of it",
        finding=_finding(scores, orders),
        population="other tasks of these writers, attributes or classes; one training run of each method.",
        estimates=estimates_of(scores),
        charts=draw(scores, size),
        listings=[_ranking(scores, orders), _pairs(unseen)],
        notes=_notes(drawn, size),
        result={"real": dict(real), "full": bool(size.epochs), "orders": orders, "pairs": unseen},
        table={
            key: np.array([row[i] for row in rows])
            for i, key in enumerate(("column", "method", "task", "accuracy"))
        },
    )


def order_of(own: Scores) -> list[str]:
    """The methods, best first."""
    return sorted(own, key=lambda name: -float(own[name].mean()))


def estimates_of(scores: Mapping[str, Scores]) -> list[Estimate]:
    """Each accuracy, each difference of two methods on the same tasks, and how a lead changes with fewer tasks."""
    made = list[Estimate]()
    for title, own in scores.items():
        over = OVER[COLUMN[title].data]
        made += [mean_of(f"{name}, {title}", own[name], "points", over, scale=100) for name in own]
        made += [
            mean_of(f"{a} minus {b}, {title}", own[a] - own[b], "points", over, scale=100)
            for a, b in combinations(own, 2)
        ]
    lead = {
        column: scores[column.title]["PN"] - scores[column.title]["SVM"]
        for column in (FEW, MANY, COLUMNS[-1])
    }
    fewer = f"PN minus SVM, {FEW.training} minus {MANY.training} training tasks"
    return [
        *made,
        mean_of(fewer, lead[FEW] - lead[MANY], "points", OVER[ZAPPOS], scale=100),
        _apart("PN minus SVM, unseen pairs minus unseen classes", lead[MANY], lead[COLUMNS[-1]]),
    ]


def _apart(name: str, one: NDArray[np.float64], other: NDArray[np.float64]) -> Estimate:
    """The difference of two means over other tasks each; half widths add in squares."""
    (first, half), (second, more) = t_interval(100 * one), t_interval(100 * other)
    wide = None if half is None or more is None else float(np.hypot(half, more))
    return around(
        name, first - second, wide, "points", "other tasks of both kinds, for these trained networks"
    )


def draw(scores: Mapping[str, Scores], size: TrialSize) -> list[Chart]:
    """Accuracy by the number of training tasks, and all columns."""
    curves = {
        name: [_group(column.training, scores[column.title][name]) for column in reversed(BY_TRAINING)]
        for name in METHODS
    }
    bars = [
        Bar(f"{name}, {COLUMN[title].short}", group.mean, group.half_width)
        for title, own in scores.items()
        for name in own
        for group in (_group(0, own[name]),)
    ]
    return [
        draw_curves(
            curves, "Unseen pairs by the number of training tasks", "training tasks", "Accuracy (points)"
        ),
        draw_bars(bars, "Methods in distribution and out of it", "Accuracy (points)"),
    ]


def _group(key: int, values: NDArray[np.float64]) -> Group:
    return Group(key, *t_interval(100 * values), len(values))


def _ranking(scores: Mapping[str, Scores], orders: Mapping[str, Sequence[str]]) -> PageTable:
    """As the paper's tables 1 and 5: accuracy in points and the place in the column."""
    rows = [
        [
            name,
            *(
                f"({orders[title].index(name) + 1}) {100 * own[name].mean():.2f}" if name in own else "n/a"
                for title, own in scores.items()
            ),
        ]
        for name in METHODS
    ]
    return PageTable("Place and accuracy (points)", ("method", *scores), rows)


def _pairs(unseen: Mapping[int, tuple[int, int]]) -> PageTable:
    rows = [[number, *found, PUBLISHED_UNSEEN[number]] for number, found in unseen.items()]
    header = ("training tasks", "pairs trained on", "other pairs in the test", "published on Zappos")
    return PageTable("Pairs of attributes that are new at the test", header, rows)


def _finding(scores: Mapping[str, Scores], orders: Mapping[str, Sequence[str]]) -> str:
    def said(title: str) -> str:
        return ", ".join(f"{name} {100 * scores[title][name].mean():.1f}" for name in orders[title])

    return (
        f"Unseen writers: {said(COLUMNS[0].title)}. Unseen pairs, {MANY.training} training tasks: "
        f"{said(MANY.title)}; {FEW.training} training tasks: {said(FEW.title)}. Unseen classes: "
        f"{said(COLUMNS[-1].title)}."
    )


def _notes(drawn: Sequence[str], size: TrialSize) -> list[str]:
    notes = list[str]()
    if drawn:
        notes.append(
            f"Generated images stand in for {', '.join(WORDS[name] for name in drawn)}: they have the structure of the "
            "tasks and nothing of the pictures, so no accuracy is comparable, and the order of methods here says "
            "nothing of their order there. For the real ones: `anyshot read-dataset` with femnist, zappos or "
            "miniimagenet, and the folder that it wrote as --data."
        )
    if not size.epochs:
        notes.append(
            f"Reduced: a Conv-4 of width {QUICK['width']} at 32 pixels, {QUICK['iterations']} training tasks from "
            "the distinct ones, as many whatever their number, with Adam; the paper trains a ResNet-12 (FEMNIST: "
            "Conv-64) for 60 epochs (FEMNIST: 100), so with fewer tasks for fewer steps. --full does so."
        )
    return [
        *notes,
        "Intervals are over test tasks, as the paper's are. One training run of each method: another would give other "
        "numbers, and a lead of a few points can turn round.",
        "FO-MAML has no place in FEMNIST's column, as in the paper: ways vary from writer to writer.",
    ]
