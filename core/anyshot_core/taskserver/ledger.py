"""Whose time it is: a monotonic clock, the participant's account, the platform's account, and the budget."""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from anyshot_core.taskserver.job import TimeUse
from anyshot_core.wire.messages import TimeLeft
from anyshot_core.wire.worker_api import Budget, PlatformStep

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class FreeTime:
    """What a step may take each time at nobody's expense: `seconds`, and more for each MiB that crosses."""

    seconds: float
    for_each_mib: float = 0.0

    def of(self, size: int) -> float:
        """The seconds for that many bytes."""
        return self.seconds + self.for_each_mib * size / (1 << 20)


# All time in a box that is not charged. What participants' code could stretch (TRANSPORT, LEARNER) is charged beyond
# its allowance; the rest beyond it is odd, and operators hear of it.
UNCHARGED = {
    PlatformStep.START: FreeTime(30.0),
    PlatformStep.PREPARE: FreeTime(5.0),
    PlatformStep.UNPACK: FreeTime(10.0, 0.1),
    PlatformStep.RESTORE: FreeTime(5.0, 0.1),
    PlatformStep.TRANSPORT: FreeTime(0.001, 0.01),
    PlatformStep.LEARNER: FreeTime(1.0, 0.03),
    PlatformStep.DRAW: FreeTime(1.0),
    PlatformStep.BETWEEN: FreeTime(30.0),
    PlatformStep.FINISH: FreeTime(2.0),
}
# Of a run's budget: more than this, and a second, is spared for no step in all, however much it copies.
SPARED_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit that a wait must keep: `name` as a participant knows it, `total` and `left` in seconds."""

    name: str
    total: float
    left: float


class Ledger:
    """Counts seconds; shared by all sandboxes of a run."""

    def __init__(
        self, budget: Budget, clock: Clock = time.monotonic, spent: Mapping[str, float] | None = None
    ) -> None:
        """`spent`: the participant's seconds by step, of earlier attempts whose results are kept."""
        self.clock = clock
        self._budget = budget
        self._participant: dict[str, float] = defaultdict(float, spent or {})
        self._platform: dict[PlatformStep, float] = defaultdict(float)
        self._odd: dict[PlatformStep, float] = defaultdict(float)
        self._spared: dict[PlatformStep, float] = defaultdict(float)
        self._import_again = 2 * self._participant["import"] + 1.0

    def charge(self, step: str, seconds: float) -> None:
        """Add to the participant's account."""
        self._participant[step] += seconds

    def import_again_limit(self) -> Limit:
        """The limit of an import that was paid for in an earlier attempt: the run's, and what is spared of it."""
        limit = self.run_limit()
        return replace(limit, left=limit.left + self._import_again)

    def spare_import(self, seconds: float, size: int) -> None:
        """Move an import that was charged a second time to the platform; what it took beyond twice the first stays."""
        spared = min(seconds, self._import_again)
        self._participant["import"] -= spared
        self.add_platform(PlatformStep.RESTORE, spared, size)

    def add_platform(self, step: PlatformStep, seconds: float, size: int = 0) -> None:
        """Add to the platform's account; `size` bytes crossed meanwhile."""
        self._platform[step] += seconds
        if (odd := seconds - UNCHARGED[step].of(size)) > 0:
            self._odd[step] += odd

    def allowance(self, step: PlatformStep, size: int) -> float:
        """The seconds of a step, which participants' code could stretch, that would be spared for that many bytes."""
        in_all = 1.0 + SPARED_SHARE * self._budget.run_seconds
        return min(UNCHARGED[step].of(size), in_all - self._spared[step])

    def spare(self, step: PlatformStep, seconds: float, size: int) -> float:
        """Add to the platform's account what is spared, and return it; the rest is to be charged."""
        spared = min(seconds, self.allowance(step, size))
        self._spared[step] += spared
        self.add_platform(step, spared, size)
        return spared

    @contextmanager
    def platform(self, step: PlatformStep, size: int = 0) -> Iterator[None]:
        """Count the time inside to the platform."""
        start = self.clock()
        try:
            yield
        finally:
            self.add_platform(step, self.clock() - start, size)

    @contextmanager
    def box(self) -> Iterator[None]:
        """Count to the platform what is counted nowhere else while a box lives."""
        start = self.clock() - self._counted
        try:
            yield
        finally:
            self.add_platform(PlatformStep.BETWEEN, max(0.0, self.clock() - start - self._counted))

    @property
    def _counted(self) -> float:
        return self.used + sum(self._platform.values())

    @property
    def used(self) -> float:
        """Seconds of the participant so far."""
        return sum(self._participant.values())

    def use(self) -> TimeUse:
        return TimeUse(dict(self._participant), _by_name(self._platform), _by_name(self._odd))

    def run_limit(self) -> Limit:
        return Limit("run", self._budget.run_seconds, self._budget.run_seconds - self.used)

    def meta_train_limit(self) -> Limit | None:
        total = self._budget.meta_train_seconds
        return None if total is None else Limit("meta-training", total, total - self._participant["meta_fit"])

    def task_limit(self, used: float) -> Limit | None:
        """`used` are the seconds that fit took already."""
        total = self._budget.task_seconds
        return None if total is None else Limit("task", total, total - used)


def _by_name(seconds: dict[PlatformStep, float]) -> dict[str, float]:
    return {step.value: spent for step, spent in seconds.items()}


def time_left(limits: list[Limit]) -> TimeLeft:
    """The limits as the runner is told them."""
    left = {limit.name: limit.left for limit in limits}
    run = left.get("run", math.inf)
    return TimeLeft(run, left.get("meta-training", run), left.get("task", math.inf))
