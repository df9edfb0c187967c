"""Predictions and tables drawn at random for the tests."""

from dataclasses import dataclass

import numpy as np

from anyshot_scoring.metrics import score_tasks
from anyshot_scoring.predictions import Predictions
from anyshot_scoring.table import TaskTable


@dataclass(frozen=True)
class Drawn:
    predictions: np.ndarray
    labels: np.ndarray
    ways: np.ndarray
    offsets: np.ndarray

    def task(self, i: int) -> tuple[np.ndarray, np.ndarray, int]:
        rows = slice(self.offsets[i], self.offsets[i + 1])
        return self.predictions[rows], self.labels[rows], int(self.ways[i])


def draw_predictions(seed: int, tasks: int, queries: int = 20, skill: float = 0.6) -> Drawn:
    """Tasks of 2 to 20 ways, `queries` images a class; right with probability `skill`, else by chance."""
    rng = np.random.default_rng(seed)
    ways = rng.integers(2, 21, tasks)
    labels = np.concatenate(
        [np.zeros(0, int), *(rng.permutation(np.repeat(np.arange(n), queries)) for n in ways)]
    )
    guesses = rng.integers(0, np.repeat(ways, ways * queries))
    predictions = np.where(rng.random(len(labels)) < skill, labels, guesses)
    return Drawn(predictions, labels, ways, np.concatenate([[0], np.cumsum(ways * queries)]))


def draw_table(seed: int, tasks: int, datasets: int = 4, skill: float = 0.6) -> TaskTable:
    drawn = draw_predictions(seed, tasks, queries=5, skill=skill)
    rng = np.random.default_rng(seed + 1)
    dataset = np.arange(tasks) * datasets // tasks
    return TaskTable.from_columns(
        {
            "task": np.arange(tasks),
            "dataset": [f"D{i}" for i in dataset],
            "domain": [f"domain {i % 2}" for i in dataset],
            "ways": drawn.ways,
            "shots": rng.integers(1, 21, tasks),
            "queries": np.diff(drawn.offsets),
            **score_tasks(drawn.predictions, drawn.labels, drawn.ways, drawn.offsets),
            "fit_seconds": rng.random(tasks),
            "predict_seconds": rng.random(tasks),
        }
    )


def draw_run(seed: int, tasks: int, datasets: int = 4, classes: int = 30, skill: float = 0.6) -> Predictions:
    """A run whose tasks take their classes from `datasets` datasets of `classes` classes each."""
    drawn = draw_predictions(seed, tasks, queries=5, skill=skill)
    rng = np.random.default_rng(seed + 1)
    parts = [drawn.task(i) for i in range(tasks)]
    dataset = np.arange(tasks) * datasets // max(tasks, 1)
    return Predictions.from_tasks(
        task=np.arange(tasks),
        dataset=[f"D{i}" for i in dataset],
        domain=[f"domain {i % 2}" for i in dataset],
        ways=drawn.ways,
        shots=rng.integers(1, 21, tasks),
        predictions=[p for p, _, _ in parts],
        labels=[t for _, t, _ in parts],
        classes=[rng.permutation(classes)[:n] for n in drawn.ways],
        fit_seconds=rng.random(tasks),
        predict_seconds=rng.random(tasks),
    )
