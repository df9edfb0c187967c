"""Score matrices drawn from a model whose truth is known."""

import numpy as np

from anyshot_scoring.predictions import Predictions
from anyshot_scoring.reliability import ScoreMatrix


def draw_matrix(
    seed: int,
    levels: list[float] | np.ndarray,
    *,
    datasets: int = 10,
    tasks: int = 30,
    runs: int = 1,
    dataset_sd: float = 0.0,
    task_sd: float = 0.1,
    run_sd: float = 0.0,
    ways: list[int] | None = None,
) -> ScoreMatrix:
    """score = level[s] + dataset effect[d, s] + run effect[r, s] + noise[t, s], all normal and independent.

    `ways` are taken in turn, task by task; all tasks have one shot.
    """
    rng, n = np.random.default_rng(seed), len(levels)
    dataset = np.tile(np.repeat(np.arange(datasets), tasks), runs)
    run = np.repeat(np.arange(runs), datasets * tasks)
    scores = np.asarray(levels) + task_sd * rng.standard_normal((len(dataset), n))
    scores += dataset_sd * rng.standard_normal((datasets, n))[dataset]
    scores += run_sd * rng.standard_normal((runs, n))[run]
    return ScoreMatrix(
        keys=tuple(f"s{i}" for i in range(n)),
        datasets=tuple(f"d{i:02}" for i in range(datasets)),
        scores=scores,
        task=np.tile(np.arange(datasets * tasks), runs),
        run=run,
        dataset=dataset,
        ways=np.resize(ways or [5], len(dataset)),
        shots=np.ones(len(dataset), np.int64),
    )


def draw_run_by_class(
    seed: int, tasks_seed: int, skills: np.ndarray, *, tasks: int = 40, ways: int = 5, queries: int = 4
) -> Predictions:
    """A run in which class c of dataset d is recognised with probability `skills[d, c]`, else guessed wrong.

    Runs with one `tasks_seed` have the same tasks.
    """
    draw, rng = np.random.default_rng(tasks_seed), np.random.default_rng(seed)
    datasets, classes = skills.shape
    dataset = np.repeat(np.arange(datasets), tasks)
    chosen = np.stack([draw.permutation(classes)[:ways] for _ in dataset])
    labels = np.tile(np.repeat(np.arange(ways), queries), (len(dataset), 1))
    right = (
        rng.random(labels.shape)
        < np.take_along_axis(skills[dataset][np.arange(len(dataset))], chosen, 1)[
            np.arange(len(dataset))[:, None], labels
        ]
    )
    wrong = (labels + rng.integers(1, ways, labels.shape)) % ways
    return Predictions.from_tasks(
        task=np.arange(len(dataset)),
        dataset=[f"d{i:02}" for i in dataset],
        domain=[""] * len(dataset),
        ways=[ways] * len(dataset),
        shots=[5] * len(dataset),
        predictions=list(np.where(right, labels, wrong)),
        labels=list(labels),
        classes=list(chosen),
    )
