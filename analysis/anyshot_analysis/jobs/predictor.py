"""Participant's view: what the support set of a task tells about one's own predictor, with a band that is checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.jobs.trust import Answers, answer, band_holds
from anyshot_analysis.pages import PageTable, ReportPage, bar_of, points
from anyshot_analysis.task_level.trust import Trust
from anyshot_analysis.undefined import Quantity, Undefined
from anyshot_core.charts import draw_bars, draw_distributions
from anyshot_core.report.estimates import Estimate, mean, share, undefined

EVALUATORS = {"k_fold": "k-fold", "hold_out": "hold-out"}
OVER = "other tasks like those of this run, by this learner"
FEWEST = 8


@dataclass(frozen=True)
class Parameters:
    """`wanted` is the accuracy to be safe of, `coverage` the share of tasks that the band is to hold."""

    wanted: float = 0.6
    coverage: float = 0.8

    def __post_init__(self) -> None:
        if not (0 < self.wanted < 1 and 0 < self.coverage < 1):
            raise BadAnalysis("wanted and coverage are shares between 0 and 1")


@dataclass(frozen=True)
class Told:
    """Accuracies `[T]` of a run's tasks, and what each evaluator said of them from the support set alone."""

    accuracy: NDArray[np.float64]
    estimates: dict[str, list[Quantity]]


def read_estimates(paths: list[Path]) -> Told:
    """`estimates.npz` of one or more runs of a submission, one after the other. Raises `BadAnalysis`."""
    parts: list[dict[str, NDArray[np.float64]]] = []
    for path in paths:
        with np.load(path, allow_pickle=False) as stored:
            if missing := [name for name in ("accuracy", *EVALUATORS) if name not in stored.files]:
                raise BadAnalysis(f"{path.name} lacks {', '.join(missing)}: it is no estimates.npz of a run")
            parts.append({n: np.asarray(stored[n], np.float64) for n in ("accuracy", *EVALUATORS)})
        if len({len(values) for values in parts[-1].values()}) != 1:
            raise BadAnalysis(f"{path.name} holds arrays of different lengths")
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    one_shot = Undefined("a class has a single support image")
    told = {
        words: [one_shot if np.isnan(v) else float(v) for v in joined[name]]
        for name, words in EVALUATORS.items()
    }
    return Told(joined["accuracy"], told)


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Errors of the estimates, and the answers of a band that half of the tasks calibrate."""
    told = read_estimates(inputs.paths("estimates", 1))
    if len(told.accuracy) < FEWEST:
        raise BadAnalysis(f"{len(told.accuracy)} tasks are too few: at least {FEWEST}")
    order = np.random.default_rng(0).permutation(len(told.accuracy))  # runs list tasks dataset by dataset
    truth = told.accuracy[order]
    estimates = {name: [values[i] for i in order] for name, values in told.estimates.items()}
    answers = {n: answer(v, truth, parameters.wanted, parameters.coverage) for n, v in estimates.items()}
    progress("Judging", 1, 1)
    return describe(estimates, truth, answers, parameters)


def errors_of(values: list[Quantity], truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Estimate minus accuracy of the tasks that are estimable."""
    return np.array(
        [float(v) - t for v, t in zip(values, truth, strict=True) if not isinstance(v, Undefined)]
    )


def estimates_of(name: str, errors: NDArray[np.float64], own: Answers, tasks: int) -> list[Estimate]:
    """Error, bias, coverage of the band, and how often it gives an answer at all."""
    if not len(errors):
        return [undefined(f"error of {name}", "no task was estimable", "points", OVER)]
    sure = own.counts[Trust.SAFE] + own.counts[Trust.UNSAFE]
    return [
        mean(f"error of {name}", np.abs(errors), "points", OVER, scale=100),
        mean(f"bias of {name}", errors, "points", OVER, scale=100),
        band_holds(name, own, OVER),
        share(f"{name} answers safe or unsafe", sure, tasks - tasks // 2, OVER),
    ]


def describe(
    estimates: dict[str, list[Quantity]],
    truth: NDArray[np.float64],
    answers: dict[str, Answers],
    parameters: Parameters,
) -> ReportPage:
    """Set the found figures on a page: finding, tables, charts and what they are of."""
    errors = {name: errors_of(values, truth) for name, values in estimates.items()}
    own = answers["k-fold"]
    judged = len(truth) - len(truth) // 2
    words = ", ".join(f"{own.counts[t]} {t.value}" for t in Trust)
    usable = {name: e for name, e in errors.items() if len(e)}
    return ReportPage(
        name="predictor-trust",
        title="What support sets tell about your predictor",
        finding=f"Is the accuracy at least {parameters.wanted:.0%}? Of {judged} tasks, by 5-fold on the support set "
        f"with a band for {parameters.coverage:.0%} of tasks: {words}.",
        population=f"{OVER}; unit: the task.",
        estimates=[e for n in estimates for e in estimates_of(n, errors[n], answers[n], len(truth))],
        charts=[
            draw_bars(
                [bar_of(n, np.abs(e)) for n, e in usable.items()],
                "Error of each evaluator",
                "Mean absolute error (points)",
            ),
            draw_distributions(
                {n: 100 * e for n, e in usable.items()}, "Estimate minus accuracy", "Error (points)"
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
            "Half of the tasks, drawn at random, calibrate the band around an estimate; the other half get the answers "
            "and say how often the band holds.",
            "5-fold and hold-out as the run exported them: the learner learns all folds but one, and answers that one.",
        ],
        result={
            "tasks": len(truth),
            "accuracy": float(truth.mean()),
            "trust": {n: {t.value: a.counts[t] for t in Trust} for n, a in answers.items()},
            "band": {
                n: a.band if isinstance(a.band, Undefined) else [points(a.band.low), points(a.band.high)]
                for n, a in answers.items()
            },
        },
        table={
            "accuracy": truth,
            **{
                n: np.array([np.nan if isinstance(v, Undefined) else v for v in values])
                for n, values in estimates.items()
            },
        },
    )
