"""One drawn Gaussian benchmark: classes of real numbers for training, validation and testing, and tasks from them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.diversity.hellinger import GaussianBenchmark

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class World:
    """`points` `[3, classes, n]` (training, validation, test), with each class's `means` and `deviations` `[3,
    classes]`.

    Points are divided by the benchmark's overall deviation `scale`, known before any draw: networks cannot train
    on inputs of size 1000, and no information is lost.
    """

    points: NDArray[np.float32]
    means: NDArray[np.float64]
    deviations: NDArray[np.float64]
    scale: float

    def split(self, name: str) -> NDArray[np.float32]:
        """`[classes, n]` of one split."""
        return self.points[SPLITS.index(name)]


@dataclass(frozen=True)
class GaussianTasks:
    """`support_x` `[T, N k, 1]`, `query_x` `[T, N q, 1]` and their labels `[T, .]`; `classes` `[T, N]`."""

    classes: NDArray[np.int64]
    support_x: NDArray[np.float32]
    support_y: NDArray[np.int64]
    query_x: NDArray[np.float32]
    query_y: NDArray[np.int64]


def draw_world(benchmark: GaussianBenchmark, seed: int, classes: int = 100, points: int = 1000) -> World:
    """The papers' data: `classes` classes a split, `points` points a class."""
    rng = np.random.default_rng(seed)
    means = rng.normal(benchmark.mu_m, benchmark.sigma_m, (len(SPLITS), classes))
    deviations = np.abs(rng.normal(benchmark.mu_s, benchmark.sigma_s, (len(SPLITS), classes)))
    drawn = rng.normal(size=(len(SPLITS), classes, points)) * deviations[..., None] + means[..., None]
    scale = float(np.sqrt(benchmark.sigma_m**2 + benchmark.mu_s**2 + benchmark.sigma_s**2))
    return World(((drawn - benchmark.mu_m) / scale).astype(np.float32), means, deviations, scale)


def draw_tasks(
    points: NDArray[np.float32],
    rng: np.random.Generator,
    tasks: int,
    ways: int = 5,
    shots: int = 10,
    query: int = 15,
) -> GaussianTasks:
    """Tasks from `points` `[classes, n]`: distinct classes in uniform order, support and query disjoint."""
    count, size = points.shape
    chosen = np.argsort(rng.random((tasks, count)), axis=1)[:, :ways]
    first = rng.integers(size, size=(tasks, ways, 1))
    # Distinct positions without sorting 1,000 keys: an arithmetic progression with a step prime to the size.
    steps = rng.choice(steps_prime_to(size), size=(tasks, ways, 1))
    places = (first + steps * np.arange(shots + query)) % size
    drawn = points[chosen[..., None], places]
    labels = np.broadcast_to(np.arange(ways)[None, :, None], (tasks, ways, shots + query))
    return GaussianTasks(
        chosen,
        drawn[..., :shots].reshape(tasks, -1, 1),
        labels[..., :shots].reshape(tasks, -1),
        drawn[..., shots:].reshape(tasks, -1, 1),
        labels[..., shots:].reshape(tasks, -1),
    )


def steps_prime_to(size: int) -> NDArray[np.int64]:
    """Whole numbers below `size` without a common divisor with it."""
    numbers = np.arange(1, size)
    return numbers[np.gcd(numbers, size) == 1]


def optimal_hits(world: World, tasks: GaussianTasks, split: str = "test") -> NDArray[np.float64]:
    """Accuracy `[T]` of the Bayes rule that knows the classes' means and deviations.

    No learner does better on average.
    """
    which = SPLITS.index(split)
    means = world.means[which][tasks.classes] / world.scale
    deviations = world.deviations[which][tasks.classes] / world.scale
    gaps = (tasks.query_x - means[:, None, :]) / deviations[:, None, :]
    scores = -0.5 * gaps**2 - np.log(deviations)[:, None, :]
    return (scores.argmax(axis=2) == tasks.query_y).mean(axis=1)
