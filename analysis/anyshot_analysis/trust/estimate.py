"""Estimates of a learner's accuracy from support sets, for heads on features and for any learner."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.heads.linear import Head
from anyshot_analysis.heads.problem import Array, FittingProblem
from anyshot_analysis.trust.splits import SplitPlan, plan_for
from anyshot_analysis.undefined import Quantity, Undefined

FitPredict = Callable[[NDArray[Any], NDArray[np.int64], NDArray[Any]], NDArray[np.int64]]
BATCH = 50


def estimate_any(
    fit_predict: FitPredict, images: NDArray[Any], labels: NDArray[np.int64], evaluator: str, seed: int = 0
) -> Quantity:
    """The estimate of one task for any learner.

    `fit_predict(train_images, train_labels, test_images)` returns labels; it is called once a round. A bootstrap's
    repeated images are repeated.
    """
    plan = plan_for(evaluator, labels, seed)
    if isinstance(plan, Undefined):
        return plan
    right = np.zeros(plan.tested.shape, dtype=bool)
    for number, (weights, tested) in enumerate(zip(plan.weights, plan.tested, strict=True)):
        rows = np.repeat(np.arange(len(labels)), weights.astype(np.int64))
        right[number, tested] = fit_predict(images[rows], labels[rows], images[tested]) == labels[tested]
    return plan.estimate(right)


def estimate(
    head: Head,
    problem: FittingProblem,
    evaluator: str,
    seeds: Sequence[int] | None = None,
    folds: int | None = None,
) -> list[Quantity]:
    """The estimate of each of a problem's tasks; tasks and rounds are fitted side by side."""
    own = range(problem.tasks) if seeds is None else seeds
    plans = [
        plan_for(evaluator, problem.labels[t], s, folds)
        for t, s in zip(range(problem.tasks), own, strict=True)
    ]
    found: list[Quantity] = [p if isinstance(p, Undefined) else 0.0 for p in plans]
    usable = [t for t, p in enumerate(plans) if isinstance(p, SplitPlan)]
    for start in range(0, len(usable), BATCH):
        part = usable[start : start + BATCH]
        chosen = [p for t in part if isinstance(p := plans[t], SplitPlan)]
        for task, right, plan in zip(part, cross_check(head, problem, part, chosen), chosen, strict=True):
            found[task] = plan.estimate(right)
    return found


def cross_check(
    head: Head, problem: FittingProblem, tasks: list[int], plans: list[SplitPlan]
) -> list[NDArray[np.bool_]]:
    """Which support images each round gets right, `[rounds, n]` a task; rounds are padded to the longest plan."""
    rounds = max(len(p.weights) for p in plans)
    weights = np.stack(
        [np.concatenate([p.weights, np.repeat(p.weights[-1:], rounds - len(p.weights), 0)]) for p in plans]
    )
    own = FittingProblem(problem.support[tasks], problem.labels[tasks], problem.queries[tasks], problem.ways)
    predicted = head.fit(own, weights).predict(own.support)
    right = predicted == own.labels[:, None, :]
    return [r[: len(p.weights)] for r, p in zip(right, plans, strict=True)]


def oracle(head: Head, problem: FittingProblem, truth: NDArray[np.int64]) -> NDArray[np.float64]:
    """Query accuracy `[T]` of the head fitted on the whole support; `truth` `[m]` or `[T, m]`."""
    hits: list[Array] = []
    for start in range(0, problem.tasks, BATCH):
        part = slice(start, start + BATCH)
        own = FittingProblem(problem.support[part], problem.labels[part], problem.queries[part], problem.ways)
        rule = head.fit(own, np.ones((own.tasks, 1, own.support.shape[1])))
        expected = truth[part] if truth.ndim == 2 else truth
        hits.append((rule.predict(own.queries)[:, 0] == expected).mean(axis=1))
    return np.concatenate(hits)
