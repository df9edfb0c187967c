"""BaselineCV: logistic regression whose regularisation is chosen by cross-validation on each support set."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.heads.baseline import BaselineHead
from anyshot_analysis.heads.problem import FittingProblem
from anyshot_analysis.trust.estimate import estimate, oracle
from anyshot_analysis.undefined import Undefined

STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)


@dataclass(frozen=True)
class BaselineCV:
    """Chosen strengths (scikit-learn's C: smaller is a stronger penalty) and query accuracies `[T]`."""

    strengths: NDArray[np.float64]
    accuracies: NDArray[np.float64]
    not_estimable: int


def choose_strengths(
    problem: FittingProblem,
    strengths: tuple[float, ...] = STRENGTHS,
    fallback: float = 1.0,
    evaluator: str = "k-fold",
) -> tuple[NDArray[np.float64], int]:
    """The strength of best 5-fold estimate a task, ties to the stronger penalty; `fallback` where not estimable."""
    ordered = tuple(sorted(strengths))  # strongest penalty first, so that argmax breaks ties towards it
    found = [estimate(BaselineHead(s), problem, evaluator) for s in ordered]
    chosen = np.full(problem.tasks, fallback)
    missing = 0
    for task in range(problem.tasks):
        values = [f[task] for f in found]
        if any(isinstance(v, Undefined) for v in values):
            missing += 1
            continue
        chosen[task] = ordered[int(np.argmax([float(v) for v in values if not isinstance(v, Undefined)]))]
    return chosen, missing


def baseline_cv(
    problem: FittingProblem,
    truth: NDArray[np.int64],
    strengths: tuple[float, ...] = STRENGTHS,
    fallback: float = 1.0,
) -> BaselineCV:
    """Choose, refit on the whole support, and test on the queries."""
    chosen, missing = choose_strengths(problem, strengths, fallback)
    accuracies = np.empty(problem.tasks)
    for strength in np.unique(chosen):
        rows = np.flatnonzero(chosen == strength)
        own = FittingProblem(problem.support[rows], problem.labels[rows], problem.queries[rows], problem.ways)
        expected = truth[rows] if truth.ndim == 2 else truth
        accuracies[rows] = oracle(BaselineHead(float(strength)), own, expected)
    return BaselineCV(chosen, accuracies, missing)
