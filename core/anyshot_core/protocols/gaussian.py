"""Gaussian few-shot benchmarks: classes are one-dimensional normal distributions.

Miranda et al., *Is Pre-training Truly Better Than Meta-Learning?* and *The Curse of Low Task Diversity*: benchmark
B = (mu_m, sigma_m, mu_s, sigma_s); a class has mean N(mu_m, sigma_m) and standard deviation |N(mu_s, sigma_s)|.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from anyshot_core.protocols.any_way_any_shot import FIVE
from anyshot_core.protocols.draws import Draws
from anyshot_core.protocols.keys import Seed
from anyshot_core.protocols.splits import PARTS, require_part
from anyshot_core.protocols.task import NumberMaker, ProtocolError, Range, TaskSpec, deal

TEN = Range(10, 10)


@dataclass(frozen=True)
class Gaussians(NumberMaker):
    """Tasks over `count` classes of `points` numbers each; the three parts have classes of their own.

    Rows are positions in `values()`: class c has rows `c * points` to `(c + 1) * points - 1`.
    """

    name: ClassVar[str] = "gaussians"
    mean_of_means: float = 0.0
    sd_of_means: float = 1.0
    mean_of_sds: float = 1.0
    sd_of_sds: float = 0.01
    count: int = 100
    points: int = 1000
    ways: Range = FIVE
    shots: Range = TEN
    query: int = 15
    part: str = "meta_test"
    split_seed: Seed = 0

    def __post_init__(self) -> None:
        require_part(self.part, PARTS)
        if self.ways.high > self.count or self.shots.high + self.query > self.points:
            raise ProtocolError("The Gaussian benchmark has fewer classes or points than a task needs.")

    def classes(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and standard deviations of the part's classes, float64 `[count]` each."""
        normal = Draws(self.name, "classes", self.part, self.split_seed).normal(2 * self.count)
        means = self.mean_of_means + self.sd_of_means * normal[: self.count]
        return means, np.abs(self.mean_of_sds + self.sd_of_sds * normal[self.count :])

    def values(self) -> np.ndarray:
        """All points of the part, float32 `[count * points, 1]`."""
        return _values(self)

    def task(self, seed: Seed, index: int) -> TaskSpec:
        """Task `index` of the part."""
        draws = Draws(self.name, self.part, seed, index)
        ways, shots = self.ways.draw(draws), self.shots.draw(draws)
        classes = draws.choose(self.count, ways)
        rows = [np.arange(c * self.points, (c + 1) * self.points) for c in classes.tolist()]
        return deal(draws, index, 0, classes, rows, shots, self.query)


@lru_cache(maxsize=4)
def _values(benchmark: Gaussians) -> np.ndarray:
    means, sds = benchmark.classes()
    draws = Draws(benchmark.name, "points", benchmark.part, benchmark.split_seed)
    normal = draws.normal(benchmark.count * benchmark.points).reshape(benchmark.count, benchmark.points)
    values = (means[:, None] + sds[:, None] * normal).astype(np.float32).reshape(-1, 1)
    values.flags.writeable = False
    return values
