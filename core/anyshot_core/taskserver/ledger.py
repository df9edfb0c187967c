"""Whose time it is: a monotonic clock, the participant's account, the platform's account, and the budget."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from anyshot_core.taskserver.job import TimeUse
from anyshot_core.wire.messages import TimeLeft
from anyshot_core.wire.worker_api import Budget

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit that a wait must keep: `name` as a participant knows it, `total` and `left` in seconds."""

    name: str
    total: float
    left: float


class Ledger:
    """Counts seconds; shared by all sandboxes of a run."""

    def __init__(self, budget: Budget, clock: Clock = time.monotonic) -> None:
        self.clock = clock
        self._budget = budget
        self._participant: dict[str, float] = defaultdict(float)
        self._platform: dict[str, float] = defaultdict(float)

    def charge(self, step: str, seconds: float) -> None:
        """Add to the participant's account."""
        self._participant[step] += seconds

    def add_platform(self, step: str, seconds: float) -> None:
        self._platform[step] += seconds

    @contextmanager
    def platform(self, step: str) -> Iterator[None]:
        """Count the time inside to the platform."""
        start = self.clock()
        try:
            yield
        finally:
            self.add_platform(step, self.clock() - start)

    @property
    def used(self) -> float:
        """Seconds of the participant so far."""
        return sum(self._participant.values())

    def use(self) -> TimeUse:
        return TimeUse(dict(self._participant), dict(self._platform))

    def run_limit(self) -> Limit:
        return Limit("run", self._budget.run_seconds, self._budget.run_seconds - self.used)

    def meta_train_limit(self) -> Limit | None:
        total = self._budget.meta_train_seconds
        return None if total is None else Limit("meta-training", total, total - self._participant["meta_fit"])

    def task_limit(self, used: float) -> Limit | None:
        """`used` are the seconds that fit took already."""
        total = self._budget.task_seconds
        return None if total is None else Limit("task", total, total - used)


def time_left(limits: list[Limit]) -> TimeLeft:
    """The limits as the runner is told them."""
    left = {limit.name: limit.left for limit in limits}
    run = left.get("run", math.inf)
    return TimeLeft(run, left.get("meta-training", run), left.get("task", math.inf))
