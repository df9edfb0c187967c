"""`python -m benchmarks.scoring`: the figures that scoring must reach, all on one core.

Times are CPU seconds of this process, which a busy machine inflates least: with a single core and no input or
output they are what the wall clock would show on an idle one. The wall clock is printed beside them.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

from anyshot_scoring.metrics import score_tasks
from anyshot_scoring.reliability import RankReliability, ScoreMatrix, rank_reliability, resample
from anyshot_scoring.reliability.board_pairs import know_board
from anyshot_scoring.rules import find_rule
from benchmarks.figures import Figure, figure, keep

TASKS, RUNS, QUERIES, SUBMISSIONS, REPLICATES, DATASETS = 6_000, 3, 20, 30, 10_000, 10
MOST_ROWS = 100  # of one model
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Timing:
    """Result, CPU seconds and wall-clock seconds of one call."""

    result: Any
    cpu: float
    wall: float

    @classmethod
    def of(cls, work: Callable[[], Any]) -> Timing:
        """Time one call."""
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        return cls(result, time.process_time() - cpu, time.perf_counter() - wall)


def main() -> None:
    """Run all measurements and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loop-tasks", type=int, default=1_500, help="tasks of the scikit-learn loop")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        # Scoring must be quick on a single core, whatever the machine has.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    # The bootstrap first: what was held before would hide its memory.
    figures = [*measure_bootstrap(), *measure_model(), *measure_scoring(options.loop_tasks)]
    keep("scoring", figures, "CPU seconds on one core of a shared machine, beside them the wall clock")


def measure_scoring(loop_tasks: int) -> list[Figure]:
    """6,000 tasks x 3 runs against a loop over scikit-learn's metrics, and their largest difference."""
    predictions, labels, ways, offsets = draw_runs()
    n = min(loop_tasks, len(ways))
    timings = [Timing.of(lambda: score_tasks(predictions, labels, ways, offsets)) for _ in range(5)]
    timings.sort(key=lambda timing: timing.cpu)
    ours = timings[2]
    loop = Timing.of(lambda: score_loop(predictions, labels, ways, offsets, n))
    ratio = loop.cpu * len(ways) / n / ours.cpu
    error = max(float(np.abs(ours.result[name][:n] - column).max()) for name, column in loop.result.items())
    return [
        figure("score 6,000 tasks x 3 runs", ours.cpu, "s", "< 1", ours.cpu < 1),
        figure("the same by the wall clock", ours.wall, "s"),
        figure(f"scikit-learn loop, a task (mean of {n:,})", 1000 * loop.cpu / n, "ms"),
        figure("times as quick as the loop", ratio, "x", ">= 100", ratio >= 100),
        figure("largest difference to the loop", error, "", f"<= {TOLERANCE}", error <= TOLERANCE),
    ]


def measure_bootstrap() -> list[Figure]:
    """10,000 replicates over 6,000 tasks x 30 submissions, by tasks and hierarchically by datasets."""
    made: list[Figure] = []
    matrix = draw_matrix()
    before = peak_mib()
    for population in ("tasks", "datasets"):
        timing = Timing.of(lambda chosen=population: judge_ranks(matrix, chosen))
        name = f"bootstrap by {population} with ranks, 10,000 x 6,000 x 30"
        made.append(figure(name, timing.cpu, "s", "< 10", timing.cpu < 10))
        made.append(figure("the same by the wall clock", timing.wall, "s"))
    more = peak_mib() - before
    return [*made, figure("memory of the bootstrap beyond its input", more, "MiB", "< 512", more < 512)]


def measure_model() -> list[Figure]:
    """The one model of a board, against the bootstrap that boards had their statements from before.

    Boards of 30 and of 100 submissions on 6,000 tasks in each of three runs, by the lowest run.
    """
    made: list[Figure] = []
    rule = find_rule("worst_run")
    for submissions in (SUBMISSIONS, MOST_ROWS):
        matrix = draw_matrix(submissions, RUNS)
        times = sorted(
            (Timing.of(lambda m=matrix: know_board(m, rule)) for _ in range(3)), key=lambda t: t.cpu
        )
        name = f"model of a board, {submissions} submissions x 6,000 tasks x 3 runs"
        made.append(figure(name, times[1].cpu, "s", "< 10", times[1].cpu < 10))
        peer = Timing.of(lambda m=matrix: resample(m, "tasks", replicates=REPLICATES, rule=rule))
        ratio = peer.cpu / times[1].cpu
        name = f"times as quick as 10,000 bootstrap replicates of {submissions} submissions, tasks alone"
        made.append(figure(name, ratio, "x", ">= 1", ratio >= 1))
    return made


def judge_ranks(matrix: ScoreMatrix, population: str) -> RankReliability:
    """Replicates and what follows for the ranks."""
    drawn = resample(matrix, population, replicates=REPLICATES)
    return rank_reliability(matrix.scores.mean(axis=0), drawn, DATASETS)


def draw_runs() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Three runs of any-way tasks, 20 query images a class, right in six of ten."""
    rng = np.random.default_rng(0)
    ways = rng.integers(2, 21, RUNS * TASKS)
    labels = np.concatenate([rng.permutation(np.repeat(np.arange(n), QUERIES)) for n in ways])
    guesses = rng.integers(0, np.repeat(ways, ways * QUERIES))
    predictions = np.where(rng.random(len(labels)) < 0.6, labels, guesses)
    return predictions, labels, ways, np.concatenate([[0], np.cumsum(ways * QUERIES)])


def draw_matrix(submissions: int = SUBMISSIONS, runs: int = 1) -> ScoreMatrix:
    """Submissions whose levels differ by up to ten points, on tasks of their own in each run."""
    rng = np.random.default_rng(0)
    count = runs * TASKS
    scores = 0.5 + 0.2 * rng.standard_normal((count, submissions)) + np.linspace(0, 0.1, submissions)
    return ScoreMatrix(
        keys=tuple(f"submission {i}" for i in range(submissions)),
        datasets=tuple(f"dataset {i}" for i in range(DATASETS)),
        scores=scores,
        task=np.arange(count) % TASKS,
        run=np.arange(count) // TASKS,
        dataset=np.arange(count) % TASKS * DATASETS // TASKS,
        ways=rng.integers(2, 21, count),
        shots=rng.integers(1, 21, count),
    )


def score_loop(
    predictions: np.ndarray, labels: np.ndarray, ways: np.ndarray, offsets: np.ndarray, tasks: int
) -> dict[str, np.ndarray]:
    """What the 2022 scorer does: scikit-learn's metrics, task by task."""
    columns: dict[str, list[float]] = {}
    for task in range(tasks):
        rows = slice(offsets[task], offsets[task + 1])
        true, predicted, chance = labels[rows], predictions[rows], 1 / ways[task]
        recall = float(recall_score(true, predicted, average="macro", zero_division=0))  # pyright: ignore[reportArgumentType]
        scores = {
            "normalized_accuracy": (recall - chance) / (1 - chance),
            "accuracy": float(accuracy_score(true, predicted)),
            "macro_f1": float(f1_score(true, predicted, average="macro", zero_division=0)),  # pyright: ignore[reportArgumentType]
            "macro_precision": float(precision_score(true, predicted, average="macro", zero_division=0)),  # pyright: ignore[reportArgumentType]
            "macro_recall": recall,
        }
        for name, value in scores.items():
            columns.setdefault(name, []).append(value)
    return {name: np.array(values) for name, values in columns.items()}


def peak_mib() -> float:
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
