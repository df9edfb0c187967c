"""Four families of simulated boards: even, clustered, heavy-tailed, and the worst of three runs counts."""

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
    """A board, the submissions' true levels `[S]` over all datasets and on these ones, and scores of another phase.

    `again` `[S]` is what the rule ranks by in a phase of the same size with other datasets and tasks.
    """

    matrix: ScoreMatrix
    truth: NDArray[np.float64]
    here: NDArray[np.float64]
    again: NDArray[np.float64]
    rule: str


def simulate(
    family: str, submissions: int, datasets: int, seed: int, level: float | None = None
) -> SimulatedBoard:
    """A board of one family, its columns best first by the rule that counts; `level` None takes any of `LEVELS`."""
    rng = np.random.default_rng([seed, submissions, datasets, FAMILIES.index(family)])
    runs = 3 if family == "worst of three" else 1
    truth = (level or rng.choice(LEVELS)) * rng.standard_normal(submissions)
    noise, backbones = _noise(family, submissions, datasets, rng)
    levels = truth + DATASETS * noise + 0.1 * rng.standard_normal((datasets, 1))
    own = 0.005 * rng.standard_normal((runs, submissions))
    matrix = _play(levels, own, rng)
    rule = "worst_run" if runs > 1 else "mean_run"
    lasting = (truth + own).min(axis=0)  # of these runs over all datasets; other runs are another population
    here = (levels.mean(axis=0) + own).min(axis=0)
    others = _noise(family, submissions, datasets, rng, backbones)[0]
    again = _play(truth + DATASETS * others + 0.1 * rng.standard_normal((datasets, 1)), own, rng)
    order = np.argsort(-matrix.run_means().min(axis=0))
    points = again.run_means().min(axis=0)
    return SimulatedBoard(matrix.submissions(order), lasting[order], here[order], points[order], rule)


def _noise(
    family: str,
    submissions: int,
    datasets: int,
    rng: np.random.Generator,
    backbones: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
    """What datasets do to submissions `[D, S]`, with variance 1, and the backbone of each team, where teams share."""
    shape = (datasets, submissions)
    noise = rng.standard_t(4, shape) / np.sqrt(2) if family == "heavy tails" else rng.standard_normal(shape)
    if family != "clustered":
        return noise, None
    drawn = rng.standard_normal((datasets, 4))  # teams that took the same fail and shine on the same datasets
    backbones = rng.integers(0, 4, submissions) if backbones is None else backbones
    return np.sqrt(0.7) * drawn[:, backbones] + np.sqrt(0.3) * noise, backbones


def _play(levels: NDArray[np.float64], own: NDArray[np.float64], rng: np.random.Generator) -> ScoreMatrix:
    """A phase: tasks of datasets with these levels `[D, S]`, in runs with what each does to a submission `[R, S]`."""
    datasets, runs = len(levels), len(own)
    dataset = np.tile(np.repeat(np.arange(datasets), TASKS_A_DATASET), runs)
    run = np.repeat(np.arange(runs), datasets * TASKS_A_DATASET)
    scores = levels[dataset] + own[run] + TASKS * rng.standard_normal((len(run), levels.shape[1]))
    scores += TASKS * rng.standard_normal((len(run), 1))
    return _matrix(scores, dataset, run, datasets)


def _matrix(
    scores: NDArray[np.float64], dataset: NDArray[np.int64], run: NDArray[np.int64], datasets: int
) -> ScoreMatrix:
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
