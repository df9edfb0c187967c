"""Participant's view: what support sets tell about heads on this pool, and whether choosing a task at a time pays."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import Field

from anyshot_analysis.episodes import draw_within_datasets
from anyshot_analysis.heads import HEADS, BaselineHead, FittingProblem, Head, compact, problem_of
from anyshot_analysis.jobs.excluded_datasets import say_left_out
from anyshot_analysis.jobs.heads import features_of, heads_of
from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.jobs.options import Backbone, Cache, Heads, Pixels, Query, Shots, Tasks, Ways, Weights
from anyshot_analysis.jobs.ranges import held_within
from anyshot_analysis.pages import Cell, PageTable, ReportPage, bar_of, points
from anyshot_analysis.trust.bands import Band, Trust, calibrate, coverage_of, judge
from anyshot_analysis.trust.error import (
    evaluator_error,
    gain_of_choosing,
    rank_agreement,
    select,
    spearman,
)
from anyshot_analysis.trust.estimate import estimate, oracle
from anyshot_analysis.trust.splits import EVALUATORS
from anyshot_analysis.undefined import Quantity, Undefined, defined_only, is_defined
from anyshot_core.charts import draw_bars, draw_distributions
from anyshot_core.report.estimates import Estimate, mean, share, undefined
from anyshot_core.report.storage import estimate_words
from anyshot_core.wire.reports import Seed

BASELINE = (
    "The head baseline has the penalty C = {:g} (strength) on features of unit length. Its errors hang on it: with a "
    "small C, leave-one-out and bootstrap nearly always answer another class than the one that lost an image."
)


@dataclass(frozen=True)
class Parameters:
    """Tasks of one shape.

    Half of them calibrate the band, the others test it. `wanted` is the accuracy to be safe of. `strength` is the
    penalty of the head `baseline`, scikit-learn's C, which its leave-one-out and bootstrap errors hang on.
    """

    heads: Heads = tuple(HEADS)
    backbone: Backbone = "conv4"
    pixels: Pixels = None
    weights: Weights = None
    cache: Cache = None
    ways: Ways = 5
    shots: Shots = 5
    query: Query = 15
    tasks: Tasks = 200
    wanted: Annotated[float, Field(description="Accuracy to be safe of.")] = 0.6
    coverage: Annotated[float, Field(description="Share of tasks whose accuracy the band is to hold.")] = 0.9
    strength: Annotated[float, Field(description="Penalty of the head baseline, scikit-learn's C.")] = 1.0
    seed: Seed = 0


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Estimate every task with every evaluator and head."""
    if parameters.tasks < 8:
        raise BadAnalysis("at least 8 tasks")
    if parameters.strength <= 0:
        raise BadAnalysis("strength is scikit-learn's C, a positive number")
    features = features_of(
        inputs.test_pool,
        parameters.backbone,
        parameters.pixels,
        parameters.weights,
        parameters.cache,
        progress,
    )
    p = parameters
    episodes = draw_within_datasets(features, p.ways, p.shots, p.query, p.tasks, p.seed)
    problem = compact(problem_of(features.values, episodes))
    heads = [replace(h, strength=p.strength) if isinstance(h, BaselineHead) else h for h in heads_of(p.heads)]
    answer = np.repeat(np.arange(p.ways), p.query)
    truth = np.stack([oracle(head, problem, answer) for head in heads])
    estimates: dict[str, list[list[Quantity]]] = {}
    for number, evaluator in enumerate(EVALUATORS):
        estimates[evaluator] = [estimate(head, problem, evaluator) for head in heads]
        progress("Estimating", number + 1, len(EVALUATORS))
    return say_left_out(describe(estimates, truth, heads, problem, parameters), p.ways, features)


def describe(
    estimates: dict[str, list[list[Quantity]]],
    truth: np.ndarray,
    heads: list[Head],
    problem: FittingProblem,
    parameters: Parameters,
) -> ReportPage:
    """Set the found figures on a page: finding, tables, charts and what they are of."""
    names = [head.name for head in heads]
    errors = {
        e: [evaluator_error(q, t) for q, t in zip(rows, truth, strict=True)] for e, rows in estimates.items()
    }
    mean_errors = {e: defined_only([x.mean_absolute for x in found])[0] for e, found in errors.items()}
    usable = {e: float(np.mean(v)) for e, v in mean_errors.items() if v}
    if not usable:
        return nothing_estimable(parameters)
    agreement, chosen = {}, {}
    for evaluator, rows in estimates.items():
        numbers, tasks = known_of(rows)
        agreement[evaluator] = rank_agreement(numbers[:, tasks], truth[:, tasks])
        chosen[evaluator] = select(numbers[:, tasks], truth[:, tasks], names)
    p = parameters
    answers = [answer(q, t, p.wanted, p.coverage) for q, t in zip(estimates["k-fold"], truth, strict=True)]
    best = min(usable, key=lambda e: usable[e])
    claims = {one.name: one for one in estimates_of(estimates, truth, names, answers, parameters)}
    rows = [
        [
            e,
            *[points(x.mean_absolute) for x in errors[e]],
            agreement[e].mean,
            points(chosen[e].chosen),
            points(chosen[e].best_single),
        ]
        for e in EVALUATORS
    ]
    return ReportPage(
        name="task-trust",
        title="What support sets tell",
        finding=(
            f"Of {len(usable)} ways to estimate a task's accuracy from its support set, {best} errs least here: on "
            f"average by {estimate_words(claims[f'error of {best}'])}, which choosing the least makes look smaller. "
            f"{gain_words(claims[f'choosing by {best}'], best, names, chosen[best].best_single_model)}"
        ),
        estimates=list(claims.values()),
        population=f"other {parameters.ways}-way {parameters.shots}-shot tasks of these datasets; unit: the task.",
        charts=[
            draw_bars(
                [bar_of(e, errors_of(estimates[e], truth)) for e in usable],
                "Error of each evaluator",
                "Mean absolute error (points)",
            ),
            draw_distributions(
                {
                    n: [
                        100 * (float(q) - t)
                        for q, t in zip(row, own, strict=True)
                        if not isinstance(q, Undefined)
                    ]
                    for n, row, own in zip(names, estimates[best], truth, strict=True)
                },
                f"Estimate minus accuracy, {best}",
                "Error (points)",
            ),
        ],
        listings=[
            PageTable(
                "Errors by head and accuracies of choices in points, and agreement in rank",
                ("evaluator", *names, "Spearman, -1 to 1", "accuracy, chosen", "accuracy, best single"),
                rows,
            ),
            PageTable(
                f"Is the accuracy at least {100 * parameters.wanted:g} %? Answers by k-fold, with a band for "
                f"{100 * parameters.coverage:g} % of tasks",
                (
                    "head",
                    "band, low (points)",
                    "band, high (points)",
                    *[f"tasks: {t.value}" for t in Trust],
                    "share of tasks that the band holds",
                ),
                [[n, *own.cells()] for n, own in zip(names, answers, strict=True)],
            ),
        ],
        notes=[
            f"Error: how far the estimate is from the accuracy on the {p.ways * p.query} query images, whose own luck "
            "is in it; the mean is over heads and tasks. Folds: at most five, and at most as many as a class has "
            "images.",
            "The band around an estimate is calibrated on half of the tasks; the other half gets the answers, and says "
            "how often the band holds.",
            *([BASELINE.format(parameters.strength)] if "baseline" in parameters.heads else []),
        ],
        result={
            "errors": {
                e: {n: x.to_dict() for n, x in zip(names, found, strict=True)} for e, found in errors.items()
            },
            "agreement": {e: a.to_dict() for e, a in agreement.items()},
            "selection": {e: s.to_dict() for e, s in chosen.items()},
            "trust": {
                n: {t.value: own.counts[t] for t in Trust} for n, own in zip(names, answers, strict=True)
            },
            "accuracy": dict(zip(names, truth.mean(axis=1).tolist(), strict=True)),
        },
        table={
            "task": np.tile(np.arange(problem.tasks), len(names)),
            "head": np.repeat(names, problem.tasks),
            "accuracy": truth.ravel(),
            **{
                e: [None if isinstance(q, Undefined) else float(q) for row in estimates[e] for q in row]
                for e in EVALUATORS
            },
        },
    )


def gain_words(gain: Estimate, evaluator: str, names: list[str], single: str) -> str:
    """What choosing a head for each task by an evaluator changes; nothing can be chosen of a single head."""
    if len(names) < 2:
        return f"With {single} alone there is nothing to choose."
    return (
        f"Choosing a head for each task by {evaluator} changes the accuracy by {estimate_words(gain)} against always "
        f"taking {single}, which is known only afterwards."
    )


@dataclass(frozen=True)
class Answers:
    """What a calibrated band says of the second half of the tasks: how many get each answer, and whether it holds.

    `held` of `of` answers are within the band; they are on `tasks` tasks, fewer where several runs answered one.
    """

    band: Band | Undefined
    counts: dict[Trust, int]
    held: int
    of: int
    tasks: int

    def cells(self) -> list[Cell]:
        """A row of the page: the band's limits in points, answers, and the share of tasks that it holds."""
        limits: list[Cell] = (
            [self.band] * 2
            if isinstance(self.band, Undefined)
            else [points(self.band.low), points(self.band.high)]
        )
        holds: Cell = self.held / self.of if self.of else Undefined("no estimable task was left")
        return [*limits, *[self.counts[t] for t in Trust], holds]


def answer(
    estimates: Sequence[Quantity],
    truth: np.ndarray,
    wanted: float,
    coverage: float,
    task: np.ndarray | None = None,
) -> Answers:
    """Calibrate the band on the first half of the tasks, and judge the second half by it.

    `task` `[N]` says which answers are on the same task, one task after the other; without it each is on its own.
    """
    tasks = np.arange(len(truth)) if task is None else task
    middle = middle_of(tasks)
    band = calibrate(estimates[:middle], truth[:middle], coverage)
    counts = dict.fromkeys(Trust, 0)
    if isinstance(band, Undefined):
        return Answers(band, counts | {Trust.CANNOT_TELL: len(truth) - middle}, 0, 0, 0)
    for value in estimates[middle:]:
        counts[judge(value, band, wanted)] += 1
    known = [i for i in range(middle, len(truth)) if not isinstance(estimates[i], Undefined)]
    holds = coverage_of(band, [estimates[i] for i in known], truth[known])
    held = round(holds * len(known)) if is_defined(holds) else 0
    return Answers(band, counts, held, len(known), len(np.unique(tasks[known])) if known else 0)


def middle_of(task: np.ndarray) -> int:
    """Where the second half of the tasks begins, in rows that list one task `[N]` after the other."""
    starts = np.sort(np.unique(task, return_index=True)[1])
    return int(starts[len(starts) // 2])


def order_of_heads(evaluator: str, estimates: np.ndarray, truth: np.ndarray, over: str) -> Estimate:
    """How well it orders the heads: Spearman's correlation of a task, over the tasks on which they are not all tied."""
    pairs = zip(estimates.T, truth.T, strict=True)
    known = defined_only([spearman(one, two) for one, two in pairs])[0]
    name = f"order of heads by {evaluator}"
    if not known:
        return undefined(name, "the heads are tied on every task", "correlation", over)
    return held_within(mean(name, known, "correlation", over), -1, 1)


def known_of(rows: list[list[Quantity]]) -> tuple[np.ndarray, np.ndarray]:
    """Estimates `[heads, tasks]`, undefined ones as NaN, and which tasks `[tasks]` are estimable for all heads."""
    numbers = np.array([[np.nan if isinstance(q, Undefined) else q for q in row] for row in rows])
    return numbers, np.asarray(np.isfinite(numbers).all(axis=0))


def errors_of(rows: list[list[Quantity]], truth: np.ndarray) -> np.ndarray:
    """Mean absolute error over heads of each task that is estimable, `[tasks]`."""
    numbers, tasks = known_of(rows)
    return np.abs(numbers - truth)[:, tasks].mean(axis=0)


def estimates_of(
    estimates: dict[str, list[list[Quantity]]],
    truth: np.ndarray,
    names: list[str],
    answers: Sequence[Answers],
    parameters: Parameters,
) -> list[Estimate]:
    """Errors of evaluators over tasks, what choosing a head by each brings, and how often each band holds."""
    over = f"other {parameters.ways}-way {parameters.shots}-shot tasks of these datasets"
    found = []
    for evaluator, rows in estimates.items():
        numbers, tasks = known_of(rows)
        if not tasks.any():
            found.append(undefined(f"error of {evaluator}", "no task was estimable", "points", over))
            continue
        found.append(mean(f"error of {evaluator}", errors_of(rows, truth), "points", over, scale=100))
        found.append(order_of_heads(evaluator, numbers[:, tasks], truth[:, tasks], over))
        gains = gain_of_choosing(numbers[:, tasks], truth[:, tasks])
        single = f"against the best of {len(names)} on the same tasks"
        found.append(mean(f"choosing by {evaluator}", gains, "points", over, scale=100, selected=single))
    for name, own in zip(names, answers, strict=True):
        found.append(band_holds(name, own, over))
    return found


def band_holds(name: str, own: Answers, over: str) -> Estimate:
    """How often the band of a head or an evaluator holds the accuracy; not known where there is no band."""
    words = f"the band of {name} holds"
    if isinstance(own.band, Undefined):
        return undefined(words, own.band.reason, "probability", over)
    return share_of_tasks(words, own.held, own.of, own.tasks, over)


def share_of_tasks(words: str, hits: int, answers: int, tasks: int, over: str) -> Estimate:
    """A share of answers, its interval as of so many tasks: answers of several runs on one task are not independent."""
    if not answers:
        return undefined(words, "nothing was answered", "probability", over)
    return share(words, hits * tasks / answers, tasks, over)


def nothing_estimable(parameters: Parameters) -> ReportPage:
    """The page of one-shot tasks."""
    reason = Undefined("not estimable: a class has a single support image")
    return ReportPage(
        name="task-trust",
        title="What support sets tell",
        finding=f"Nothing: {parameters.shots}-shot tasks are not estimable from their support sets.",
        population="the same tasks",
        estimates=[
            undefined("error of every evaluator", reason.reason, "points", "other tasks of this shape")
        ],
        result={"errors": reason},
        table={"task": np.arange(0)},
    )
