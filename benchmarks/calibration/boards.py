"""Four families of simulated boards: even, clustered, heavy-tailed, and the worst of three runs counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyshot_scoring.reliability import ScoreMatrix

FAMILIES = ("even", "clustered", "heavy tails", "worst of three")
LEVELS = (
    0.005,
    0.01,
    0.02,
    0.04,
)  # standard deviation between submissions: from nearly equal ones to far apart
DATASETS, TASKS = 0.03, 0.1  # of what a dataset and a task add
TASKS_A_DATASET = 20


@dataclass(frozen=True)
class SimulatedBoard:
    """A board and the submissions' true levels over all datasets `[S]`."""

    matrix: ScoreMatrix
    truth: NDArray[np.float64]
    rule: str


def simulate(
    family: str, submissions: int, datasets: int, seed: int, level: float | None = None
) -> SimulatedBoard:
    """A board of one family, its columns best first by the rule that counts; `level` None takes any of `LEVELS`."""
    rng = np.random.default_rng([seed, submissions, datasets, FAMILIES.index(family)])
    runs = 3 if family == "worst of three" else 1
    truth = (level or rng.choice(LEVELS)) * rng.standard_normal(submissions)
    shape = (datasets, submissions)
    noise = rng.standard_t(4, shape) / np.sqrt(2) if family == "heavy tails" else rng.standard_normal(shape)
    if family == "clustered":  # teams that took the same backbone fail and shine on the same datasets
        shared = rng.standard_normal((datasets, 4))[:, rng.integers(0, 4, submissions)]
        noise = np.sqrt(0.7) * shared + np.sqrt(0.3) * noise
    levels = truth + DATASETS * noise + 0.1 * rng.standard_normal((datasets, 1))
    dataset = np.tile(np.repeat(np.arange(datasets), TASKS_A_DATASET), runs)
    run = np.repeat(np.arange(runs), datasets * TASKS_A_DATASET)
    own = 0.005 * rng.standard_normal((runs, submissions))
    scores = levels[dataset] + own[run] + TASKS * rng.standard_normal((len(run), submissions))
    scores += TASKS * rng.standard_normal((len(run), 1))
    rule = "worst_run" if runs > 1 else "mean_run"
    lasting = (truth + own).min(axis=0)  # of these runs over all datasets; other runs are another population
    return _sorted(_matrix(scores, dataset, run, datasets), lasting, rule)


def _matrix(scores: NDArray, dataset: NDArray, run: NDArray, datasets: int) -> ScoreMatrix:
    n = len(scores)
    return ScoreMatrix(
        keys=tuple(f"s{i}" for i in range(scores.shape[1])),
        datasets=tuple(f"d{i:02d}" for i in range(datasets)),
        scores=scores,
        task=np.arange(n) % (n // (int(run.max()) + 1)),
        run=run,
        dataset=dataset,
        ways=np.full(n, 5),
        shots=np.full(n, 5),
    )


def _sorted(matrix: ScoreMatrix, truth: NDArray, rule: str) -> SimulatedBoard:
    means = matrix.run_means()
    order = np.argsort(-(means.min(axis=0) if rule == "worst_run" else means.mean(axis=0)))
    return SimulatedBoard(matrix.submissions(order), truth[order], rule)
