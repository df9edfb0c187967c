"""Participant's view: what the support set of a task tells about one's own predictor, with a band that is checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.pages import PageTable, ReportPage, bar_of, points
from anyshot_analysis.trust.bands import Trust
from anyshot_analysis.trust.task_trust_report import Answers, answer, band_holds, middle_of, share_of_tasks
from anyshot_analysis.undefined import Quantity, Undefined
from anyshot_core.charts import draw_bars, draw_distributions
from anyshot_core.report.estimates import Estimate, mean, undefined
from anyshot_core.wire.reports import PredictorTrust

EVALUATORS = {"k_fold": "k-fold", "hold_out": "hold-out"}
OVER = "other tasks like those of this run, by this learner"
FEWEST = 8


class Parameters(PredictorTrust):
    """`wanted` is the accuracy to be safe of, `coverage` the share of tasks that the band is to hold."""

    def model_post_init(self, context: object, /) -> None:
        if not (0 < self.wanted < 1 and 0 < self.coverage < 1):
            raise BadAnalysis("wanted and coverage are shares between 0 and 1")


@dataclass(frozen=True)
class Told:
    """Accuracies `[N]` of a learner's answers, and what each evaluator said of them from the support set alone.

    `task` `[N]` has the same number for answers of several runs on one task; one task comes after the other, in a
    random order, since runs list tasks dataset by dataset.
    """

    accuracy: NDArray[np.float64]
    estimates: dict[str, list[Quantity]]
    task: NDArray[np.int64]

    @property
    def tasks(self) -> int:
        """How many different tasks there are."""
        return len(np.unique(self.task))

    def by_task(self, values: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Means of `values`, one for each of the `known` answers, over the answers on a task; tasks without one are
        left out."""
        place = np.unique(self.task[known], return_inverse=True)[1]
        return np.bincount(place, values) / np.bincount(place)


def read_estimates(paths: list[Path]) -> Told:
    """`estimates.npz` of one or more runs of a submission. Raises `BadAnalysis`.

    Where files do not say of which draw their tasks are, those of equal numbers count as one task.
    """
    parts: list[dict[str, NDArray[np.float64]]] = []
    places: list[NDArray[np.int64]] = []
    for path in paths:
        with np.load(path, allow_pickle=False) as stored:
            if missing := [name for name in ("accuracy", *EVALUATORS) if name not in stored.files]:
                raise BadAnalysis(f"{path.name} lacks {', '.join(missing)}: it is no estimates.npz of a run")
            parts.append({n: np.asarray(stored[n], np.float64) for n in ("accuracy", *EVALUATORS)})
            places.append(_places(stored, len(parts[-1]["accuracy"])))
        if len({len(values) for values in parts[-1].values()}) != 1:
            raise BadAnalysis(f"{path.name} holds arrays of different lengths")
    task = np.unique(np.concatenate(places), axis=0, return_inverse=True)[1].ravel()
    shuffled = np.random.default_rng(0).permutation(task.max(initial=-1) + 1)[task]
    order = np.argsort(shuffled, kind="stable")
    joined = {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}
    one_shot = Undefined("a class has a single support image")
    told = {
        words: [one_shot if np.isnan(v) else float(v) for v in joined[name]]
        for name, words in EVALUATORS.items()
    }
    return Told(joined["accuracy"], told, shuffled[order])


def _places(stored: Mapping[str, NDArray[np.int64]], count: int) -> NDArray[np.int64]:
    """Draw and number of each task, `[T, 2]`."""
    columns = {"draw": np.zeros(count, np.int64), "task": np.arange(count)}
    return np.column_stack([stored.get(name, own) for name, own in columns.items()])


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Errors of the estimates, and the answers of a band that half of the tasks calibrate."""
    told = read_estimates(inputs.paths("estimates", 1))
    if told.tasks < FEWEST:
        raise BadAnalysis(f"{told.tasks} tasks are too few: at least {FEWEST}")
    answers = {
        name: answer(values, told.accuracy, parameters.wanted, parameters.coverage, told.task)
        for name, values in told.estimates.items()
    }
    progress("Judging", 1, 1)
    return describe(told, answers, parameters)


def errors_of(told: Told, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate minus accuracy, and its size, of each task that is estimable: means over the runs that answered it."""
    known = np.array([not isinstance(value, Undefined) for value in told.estimates[name]])
    gaps = np.array(
        [
            float(v) - t
            for v, t in zip(told.estimates[name], told.accuracy, strict=True)
            if not isinstance(v, Undefined)
        ]
    )
    return told.by_task(gaps, known), told.by_task(np.abs(gaps), known)


def estimates_of(
    name: str, gaps: NDArray[np.float64], sizes: NDArray[np.float64], own: Answers, told: Told
) -> list[Estimate]:
    """Error, bias, coverage of the band, and how often it gives an answer at all."""
    if not len(gaps):
        return [undefined(f"error of {name}", "no task was estimable", "points", OVER)]
    sure = own.counts[Trust.SAFE] + own.counts[Trust.UNSAFE]
    answers, tasks = judged(told)
    return [
        mean(f"error of {name}", sizes, "points", OVER, scale=100),
        mean(f"bias of {name}", gaps, "points", OVER, scale=100),
        band_holds(name, own, OVER),
        share_of_tasks(f"{name} answers safe or unsafe", sure, answers, tasks, OVER),
    ]


def judged(told: Told) -> tuple[int, int]:
    """How many answers the second half of the tasks has, and how many tasks it is."""
    return len(told.task) - middle_of(told.task), told.tasks - told.tasks // 2


def judged_words(told: Told) -> str:
    """`50 tasks`, or `100 answers on 50 tasks`."""
    answers, tasks = judged(told)
    return f"{tasks} tasks" if answers == tasks else f"{answers} answers on {tasks} tasks"


def describe(told: Told, answers: dict[str, Answers], parameters: Parameters) -> ReportPage:
    """Set the found figures on a page: finding, tables, charts and what they are of."""
    estimates, truth = told.estimates, told.accuracy
    errors = {name: errors_of(told, name) for name in estimates}
    own = answers["k-fold"]
    words = ", ".join(f"{own.counts[t]} {t.value}" for t in Trust)
    usable = {name: e for name, e in errors.items() if len(e[0])}
    return ReportPage(
        name="predictor-trust",
        title="What support sets tell about your predictor",
        finding=f"Is the accuracy at least {parameters.wanted:.0%}? Of {judged_words(told)}, by 5-fold on the support "
        f"set with a band for {parameters.coverage:.0%} of tasks: {words}.",
        population=f"{OVER}; unit: the task.",
        estimates=[e for n in estimates for e in estimates_of(n, *errors[n], answers[n], told)],
        charts=[
            draw_bars(
                [bar_of(n, sizes) for n, (_, sizes) in usable.items()],
                "Error of each evaluator",
                "Mean absolute error (points)",
            ),
            draw_distributions(
                {n: 100 * gaps for n, (gaps, _) in usable.items()},
                "Estimate minus accuracy",
                "Error (points)",
            ),
        ],
        listings=[
            PageTable(
                f"Trust in an accuracy of {parameters.wanted:.0%}, band for {parameters.coverage:.0%} of tasks",
                (
                    "evaluator",
                    "band, low (points)",
                    "band, high (points)",
                    *[t.value for t in Trust],
                    "share that the band holds",
                ),
                [[n, *a.cells()] for n, a in answers.items()],
            )
        ],
        notes=[
            "Error: what an estimate and the accuracy differ by, whatever the sign; bias: the estimate less it.",
            "Half of the tasks, drawn at random, calibrate the band around an estimate; the other half get the answers "
            "and say how often the band holds.",
            *(
                ["A task that several runs answered is one task, and lies in one half alone."]
                if len(truth) > told.tasks
                else []
            ),
            "5-fold and hold-out as the run exported them: the learner learns all folds but one, and answers that one.",
        ],
        result={
            "tasks": told.tasks,
            "accuracy": float(truth.mean()),
            "trust": {n: {t.value: a.counts[t] for t in Trust} for n, a in answers.items()},
            "band": {
                n: a.band if isinstance(a.band, Undefined) else [points(a.band.low), points(a.band.high)]
                for n, a in answers.items()
            },
        },
        table={
            "task": told.task,
            "accuracy": truth,
            **{
                n: np.array([np.nan if isinstance(v, Undefined) else v for v in values])
                for n, values in estimates.items()
            },
        },
    )
