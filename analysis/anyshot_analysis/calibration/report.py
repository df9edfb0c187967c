"""Participant's view: whether the probabilities that a predictor states hold on the tasks of its runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.calibration.by_class import (
    ClassAnswers,
    ClassCalibration,
    classes_note,
    classes_table,
    judge_classes,
)
from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.pages import Cell, PageTable, ReportPage, points
from anyshot_analysis.trust.predictor_report import FEWEST, OVER
from anyshot_core.charts import ReliabilityBin, draw_reliability
from anyshot_core.report.estimates import Estimate, exact, mean
from anyshot_core.report.storage import estimate_words
from anyshot_core.wire.reports import Calibration
from anyshot_scoring.calibration import (
    LEAST,
    CalibrationError,
    calibration_error,
    negative_log_likelihoods,
)
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.undefined import Undefined

MOST_BINS = 100
_NAMES = ("task", "dataset", "ways", "queries", "label", "predicted", "probabilities")
_TOLERANCE = 1e-3  # of the sum of a distribution
_ROUNDING = 1e-4  # points that probabilities in float32 may differ by


class Parameters(Calibration):
    """`bins` of equal width that confidences are put into; `seed` of the draws that say what chance would do."""

    def model_post_init(self, context: object, /) -> None:
        if not 2 <= self.bins <= MOST_BINS:
            raise BadAnalysis(f"bins is a number from 2 to {MOST_BINS}")


@dataclass(frozen=True)
class Stated:
    """All answers with probabilities, of one run after another.

    Attributes:
        confidence, hit, likelihood: of each answer `[n]`: what its likeliest class has, whether that is right, and the
            negative log-likelihood of the true class.
        of: `[n]`, which task each answers; tasks are numbered from 0 over all runs, one that several runs answered has
            one number.
        dataset, ways: of each task `[T]`.
        classes: the same answers by class; None where a file does not say which classes its tasks have.
        left_out: tasks of the runs without probabilities; `doubted` of them because what came was none.
    """

    confidence: NDArray[np.float64]
    hit: NDArray[np.float64]
    likelihood: NDArray[np.float64]
    of: NDArray[np.int64]
    dataset: NDArray[np.int64]
    ways: NDArray[np.int64]
    classes: ClassAnswers | None
    left_out: int
    doubted: int

    def by_task(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Means of values `[n]` over the answers of each task `[T]`."""
        return np.bincount(self.of, values) / np.bincount(self.of)

    @property
    def tasks(self) -> int:
        """How many different tasks there are."""
        return len(self.dataset)


def read_probabilities(paths: list[Path]) -> Stated:
    """`probabilities.npz` of one or more runs of a submission. Raises `BadAnalysis`."""
    parts = [_read(path) for path in paths]
    places = np.concatenate([np.column_stack([part["draw"], part["task"]]) for part in parts])
    _, first, number = np.unique(places, axis=0, return_index=True, return_inverse=True)
    answers = np.repeat(number.ravel(), np.concatenate([part["queries"] for part in parts]))
    return Stated(
        confidence=np.concatenate([part["confidence"] for part in parts]),
        hit=np.concatenate([part["hit"] for part in parts]),
        likelihood=np.concatenate([part["likelihood"] for part in parts]),
        of=answers,
        dataset=np.concatenate([part["dataset"] for part in parts])[first],
        ways=np.concatenate([part["ways"] for part in parts])[first],
        classes=_by_class(
            parts, np.split(number.ravel(), np.cumsum([len(part["task"]) for part in parts])[:-1])
        ),
        left_out=sum(int(part["tasks_of_run"]) - len(part["task"]) for part in parts),
        doubted=sum(int(part["not_believed"]) for part in parts),
    )


def _read(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as stored:
        if missing := [name for name in _NAMES if name not in stored.files]:
            raise BadAnalysis(f"{path.name} lacks {', '.join(missing)}: it is no probabilities.npz of a run")
        found = {name: stored[name] for name in stored.files}
    count = len(found["task"])
    found.setdefault("draw", np.zeros(count, np.int64))
    found.setdefault("tasks_of_run", np.array(count))
    found.setdefault("not_believed", np.array(0))
    queries, ways = found["queries"], found["ways"]
    fits = len(found["dataset"]) == len(ways) == len(queries) == count > 0
    fits &= len(found.get("classes", np.empty(ways.sum()))) == ways.sum()
    if not fits or (len(found["label"]), len(found["probabilities"])) != (queries.sum(), queries @ ways):
        raise BadAnalysis(f"{path.name} holds arrays of lengths that do not fit together")
    return found | _judge(path, found)


def _by_class(
    parts: Sequence[Mapping[str, NDArray[Any]]], numbers: Sequence[NDArray[np.int64]]
) -> ClassAnswers | None:
    """The answers by class, where all files say the classes; `numbers` are those of each file's tasks."""
    if not all("classes" in part for part in parts):
        return None
    return ClassAnswers.joined([_answers_of(part, own) for part, own in zip(parts, numbers, strict=True)])


def _answers_of(part: Mapping[str, NDArray[Any]], number: NDArray[np.int64]) -> ClassAnswers:
    ways, queries = part["ways"], part["queries"]
    cells = ways * queries
    names = np.split(part["classes"], np.cumsum(ways)[:-1])
    labels = np.split(part["label"], np.cumsum(queries)[:-1])
    return ClassAnswers(
        dataset=np.repeat(part["dataset"], cells),
        klass=np.concatenate([np.tile(own, count) for own, count in zip(names, queries, strict=True)]),
        stated=part["probabilities"],
        true=np.concatenate(
            [(own[:, None] == np.arange(count)).ravel() for own, count in zip(labels, ways, strict=True)]
        ),
        task=np.repeat(number, cells),
    )


def _judge(path: Path, found: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float64]]:
    """Confidence, hit and negative log-likelihood of each answer. Raises `BadAnalysis` for what is no distribution."""
    rows, label, predicted = found["probabilities"].astype(np.float64), found["label"], found["predicted"]
    judged: dict[str, list[NDArray[np.float64]]] = {"confidence": [], "likelihood": []}
    start, place = 0, 0
    for queries, ways in zip(found["queries"], found["ways"], strict=True):
        own = rows[start : start + queries * ways].reshape(queries, ways)
        sums = own.sum(axis=1)
        if not (np.isfinite(own).all() and (own >= 0).all() and (np.abs(sums - 1) <= _TOLERANCE).all()):
            raise BadAnalysis(f"{path.name} holds rows that are no probabilities")
        own = own / sums[:, None]
        judged["confidence"].append(own.max(axis=1))
        judged["likelihood"].append(negative_log_likelihoods(own, label[place : place + queries]))
        start, place = start + queries * ways, place + queries
    hit = (label == predicted).astype(np.float64)
    return {name: np.concatenate(values) for name, values in judged.items()} | {"hit": hit}


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """NLL and calibration error of the answers, beside what chance alone would show."""
    stated = read_probabilities(inputs.paths("probabilities", 1))
    if stated.tasks < FEWEST:
        raise BadAnalysis(f"{stated.tasks} tasks with probabilities are too few: at least {FEWEST}")
    error = calibration_error(stated.confidence, stated.hit, stated.of, parameters.bins, parameters.seed)
    progress("Judging", 1, 2)
    classes = (
        judge_classes(stated.classes, parameters.bins, parameters.seed, FEWEST) if stated.classes else None
    )
    progress("Judging", 2, 2)
    return describe(stated, error, classes, parameters)


def estimates_of(stated: Stated, error: CalibrationError) -> list[Estimate]:
    """What is stated, what is true, and how far they differ."""
    right, sure = stated.by_task(stated.hit), stated.by_task(stated.confidence)
    chance = (
        f"what exact probabilities show on {stated.tasks} tasks, on average; "
        f"in 95 % of draws at most {points(error.chance_most)} points"
    )
    low, high = error.interval
    return [
        mean("NLL", stated.by_task(stated.likelihood), "nats", OVER),
        exact("NLL of equal probabilities", float(np.log(stated.ways).mean()), "nats", "these tasks"),
        mean("accuracy", right, "points", OVER, scale=100),
        mean("confidence", sure, "points", OVER, scale=100),
        mean("confidence minus accuracy", sure - right, "points", OVER, scale=100),
        Estimate("ECE", 100 * error.value, (100 * low, 100 * high), "points", OVER),
        exact("ECE by chance", 100 * error.chance, "points", OVER, chance),
    ]


def finding_of(claims: Mapping[str, Estimate], error: CalibrationError) -> str:
    """Overconfident, underconfident, wrong both ways, or nothing seen; with the numbers."""
    gap, ece, nll = claims["confidence minus accuracy"], claims["ECE"], claims["NLL"]
    assert not isinstance(gap.value, Undefined)
    # Without an interval the gap is the same in every task.
    low, high = (gap.value, gap.value) if isinstance(gap.interval, Undefined) else gap.interval
    if low > _ROUNDING or high < -_ROUNDING:
        word = "overconfident" if low > _ROUNDING else "underconfident"
        said = f"The predictor is {word}: confidence minus accuracy is {estimate_words(gap)}."
    elif error.value > error.chance_most:
        said = "Stated probabilities are too high for some answers and too low for others."
    else:
        said = "No miscalibration is seen on these tasks."
    beside = f"exact probabilities would show {points(error.chance)} by chance"
    return f"{said} ECE {estimate_words(ece)}; {beside}. NLL {estimate_words(nll)}."


def describe(
    stated: Stated,
    error: CalibrationError,
    classes: Sequence[ClassCalibration] | None,
    parameters: Parameters,
) -> ReportPage:
    """Set the found figures on a page: finding, tables, chart and what they are of."""
    estimates = estimates_of(stated, error)
    return ReportPage(
        name="calibration",
        title="Whether your predictor's probabilities hold",
        finding=finding_of({one.name: one for one in estimates}, error),
        population=f"{OVER}; unit: the task.",
        estimates=estimates,
        charts=[draw_reliability({"your predictor": _diagram(stated, error)}, "Confidence and accuracy")],
        listings=[
            _bins_table(error),
            _datasets_table(stated),
            *([classes_table(classes)] if classes else []),
        ],
        notes=[
            *_notes(stated, parameters),
            classes_note(classes)
            if classes
            else "Nothing is said by class: a file of a run does not say its classes.",
        ],
        result={
            "tasks": stated.tasks,
            "answers": len(stated.of),
            "bins": parameters.bins,
            "nll": float(stated.by_task(stated.likelihood).mean()),
            "ece": error.value,
            "ece_by_chance": {"mean": error.chance, "most": error.chance_most},
            "confidence": float(stated.by_task(stated.confidence).mean()),
            "accuracy": float(stated.by_task(stated.hit).mean()),
            "classes": None if classes is None else [vars(one) for one in classes],
            "left_out": {"all": stated.left_out, "not believed": stated.doubted},
        },
        table={
            "task": np.arange(stated.tasks),
            "dataset": stated.dataset,
            "ways": stated.ways,
            "nll": stated.by_task(stated.likelihood),
            "confidence": stated.by_task(stated.confidence),
            "accuracy": stated.by_task(stated.hit),
        },
    )


def _diagram(stated: Stated, error: CalibrationError) -> list[ReliabilityBin]:
    bins = error.bins
    return [
        ReliabilityBin(
            float(bins.confidence[b]), float(bins.accuracy[b]), float(bins.errors[b]), int(bins.answers[b])
        )
        for b in np.flatnonzero(bins.answers)
    ]


def _bins_table(error: CalibrationError) -> PageTable:
    bins, count = error.bins, len(error.bins.answers)
    return PageTable(
        "Answers by confidence",
        (
            "confidence above (points)",
            "up to (points)",
            "answers",
            "mean confidence (points)",
            "right (points)",
            "± (points)",
        ),
        [
            [
                points(b / count),
                points((b + 1) / count),
                int(bins.answers[b]),
                *[points(values[b]) for values in (bins.confidence, bins.accuracy, bins.errors)],
            ]
            for b in np.flatnonzero(bins.answers)
        ],
    )


def _datasets_table(stated: Stated) -> PageTable:
    """One row a dataset, the one with the highest NLL first."""
    columns = [stated.by_task(values) for values in (stated.likelihood, stated.hit, stated.confidence)]
    rows: list[tuple[float, list[Cell]]] = []
    for dataset in np.unique(stated.dataset):
        nll, right, sure = (values[stated.dataset == dataset] for values in columns)
        (loss, width), single = t_interval(nll), Undefined("one task")
        spread: Cell = single if width is None else round(width, 4)
        shares = [points(float(values.mean())) for values in (right, sure)]
        rows.append((loss, [f"dataset {dataset + 1}", len(nll), round(loss, 4), spread, *shares]))
    header = ("dataset", "tasks", "NLL (nats)", "± (nats)", "accuracy (points)", "confidence (points)")
    worst_first = sorted(rows, key=lambda row: -row[0])
    return PageTable("By dataset, highest NLL first", header, [cells for _, cells in worst_first])


def _notes(stated: Stated, parameters: Parameters) -> list[str]:
    clipped = int((stated.likelihood >= -np.log(LEAST)).sum())
    notes = [
        f"ECE is the expected calibration error of Guo et al. (2017): {parameters.bins} bins of equal width, all "
        "answers of all tasks together, each counting once. It is never negative and so comes out too high, the more "
        "so the fewer tasks there are: read it beside the one by chance, and do not compare runs of different sizes.",
        "The interval of ECE holds in at least 95 %: it takes the noise of all bins together, and is wide. Tasks are "
        "drawn, not answers: those within one task depend on each other.",
        "NLL is the mean over tasks of the mean over their answers, by natural logarithms; a true class with less than "
        f"{LEAST:.2g} (the smallest number of float32) counts as having that, {-np.log(LEAST):.1f} nats: "
        f"{clipped} of {len(stated.of)} answers.",
        "Rows that predict returned as probabilities (not negative, of sum 1) are taken as they are, all others as "
        "logits: their softmax.",
        "Two questions are asked, each at 5 %: whether confidence and accuracy differ on average, and whether ECE is "
        "above what exact probabilities show.",
        "Datasets are numbered as they stand in the pool that is tested on, from 1; the order of the table is by these "
        "very tasks, which makes the first look worse than it is.",
    ]
    if stated.left_out:
        words = f", {stated.doubted} of them because what came was no distribution" if stated.doubted else ""
        notes.append(
            f"{stated.left_out} tasks of the runs have no probabilities{words}: nothing is said of them."
        )
    return notes
