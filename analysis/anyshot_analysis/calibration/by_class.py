"""Whether a predictor's probabilities hold class by class: NLL where the class is the true one, class-wise ECE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.pages import Cell, PageTable, points
from anyshot_scoring.calibration import LEAST, calibration_error
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.undefined import Undefined

MOST_CLASSES = 30  # on the page; all of them are in result.json


@dataclass(frozen=True)
class ClassAnswers:
    """What each answer of a task gives to each class of the task, one `[m]` after the other.

    `dataset` and `klass` say the class by its place in the pool and its number in the dataset; `stated` is its
    probability, `true` whether the query image is of it; `task` which task it is.
    """

    dataset: NDArray[np.int64]
    klass: NDArray[np.int64]
    stated: NDArray[np.float32]
    true: NDArray[np.bool_]
    task: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: Sequence[ClassAnswers]) -> ClassAnswers:
        """Several runs as one."""
        return cls(
            *(np.concatenate([getattr(one, name) for one in parts]) for name in cls.__dataclass_fields__)
        )


@dataclass(frozen=True)
class ClassCalibration:
    """One class: in how many `tasks` it was, and how many query images were of it.

    `nll` is the mean over tasks of the mean over its own images, `half_width` of its 95 % interval over tasks. `ece` is
    of its own probability in all answers of these tasks, against how often the image was of it; `chance` what exact
    probabilities would show.
    """

    dataset: int
    klass: int
    tasks: int
    images: int
    nll: float
    half_width: float | Undefined
    stated: float
    ece: float | Undefined
    chance: float | Undefined


def judge_classes(answers: ClassAnswers, bins: int, seed: int, fewest: int) -> list[ClassCalibration]:
    """Every class, the highest NLL first; a class of fewer than `fewest` tasks has no ECE."""
    names = np.column_stack([answers.dataset, answers.klass])
    known, place = np.unique(names, axis=0, return_inverse=True)
    order = np.argsort(place.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(place.ravel()))[:-1]
    found = [
        _judge(int(dataset), int(klass), answers, own, bins, seed, fewest)
        for (dataset, klass), own in zip(known, np.split(order, ends), strict=True)
    ]
    return sorted((one for one in found if one.images), key=lambda one: -one.nll)


def _judge(
    dataset: int, klass: int, answers: ClassAnswers, own: NDArray[np.int64], bins: int, seed: int, fewest: int
) -> ClassCalibration:
    stated, true, task = answers.stated[own], answers.true[own], answers.task[own]
    losses = -np.log(np.maximum(stated[true].astype(np.float64), LEAST))
    _, number = np.unique(task[true], return_inverse=True)
    by_task = np.bincount(number, losses) / np.bincount(number)
    nll, half = t_interval(by_task) if len(by_task) else (np.nan, None)
    tasks = len(np.unique(task))
    few = Undefined(f"under {fewest} tasks")
    error = calibration_error(stated, true, task, bins, seed) if tasks >= fewest else few
    return ClassCalibration(
        dataset,
        klass,
        tasks,
        int(true.sum()),
        float(nll),
        half or Undefined("one task" if half is None else "equal in all tasks"),
        float(stated[true].mean()) if true.any() else np.nan,
        error if isinstance(error, Undefined) else error.value,
        error if isinstance(error, Undefined) else error.chance,
    )


def classes_table(found: Sequence[ClassCalibration]) -> PageTable:
    """The classes with the highest NLL."""
    header = (
        "class",
        "tasks with it",
        "images of it",
        "NLL (nats)",
        "± (nats)",
        "its probability where it is true (points)",
        "ECE (points)",
        "ECE by chance (points)",
    )
    return PageTable("By class, highest NLL first", header, [_row(one) for one in found[:MOST_CLASSES]])


def _row(one: ClassCalibration) -> list[Cell]:
    spread: Cell = one.half_width if isinstance(one.half_width, Undefined) else round(one.half_width, 4)
    errors: list[Cell] = [e if isinstance(e, Undefined) else points(e) for e in (one.ece, one.chance)]
    name = f"class {one.klass} of dataset {one.dataset + 1}"
    return [name, one.tasks, one.images, round(one.nll, 4), spread, points(one.stated), *errors]


def classes_note(found: Sequence[ClassCalibration]) -> str:
    """What the figures of a class are of."""
    shown = (
        f" The first {MOST_CLASSES} of {len(found)} classes are shown." if len(found) > MOST_CLASSES else ""
    )
    return (
        "Classes have their number in the dataset, from 0, as in its files. "
        "NLL of a class is over its own images: how little its probability is where it is true. ECE of a class is "
        "class-wise (Nixon et al. 2019): its probability in all answers of the tasks that have it, against how often "
        "the image was of it. The worst of many look worse than they are: read each beside its ± and its chance."
        + shown
    )
