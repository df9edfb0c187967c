"""What an attempt uses and what its logger says, over time: stretches that go to the platform with the heartbeats."""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from anyshot_core.wire.messages import LoggerRow
from anyshot_core.wire.worker_api import HEARTBEAT_SECONDS, Measure, Series, Stage
from anyshot_worker.sandbox.gpu import GpuUse
from anyshot_worker.sandbox.interface import BoxUsage

STRETCHES = 60  # a stretch is at least this part of what the attempt has taken so far
MOST_A_BEAT = 500
MOST_STEP = 2**31 - 1  # that a measure can tell; a submission may set the counter of its logger to more
_FIGURES = ("loss", "accuracy", "normalized_accuracy")


class Used(Protocol):
    """What tells how much it has used: a sandbox."""

    def usage(self) -> BoxUsage: ...


@dataclass
class _Rows:
    """Rows of the logger since the last stretch: sums and numbers of each figure."""

    rows: int = 0
    step: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)

    def add(self, row: LoggerRow) -> None:
        self.rows += 1
        step = min(row.step if row.validation else row.iteration, MOST_STEP)
        self.step = max(self.step, step, 0)
        for name in _FIGURES:
            value = getattr(row, name)
            if math.isfinite(value):
                self.sums[name] = self.sums.get(name, 0.0) + value
                self.numbers[name] = self.numbers.get(name, 0) + 1

    def means(self) -> dict[str, float]:
        found = {name: self.sums[name] / number for name, number in self.numbers.items()}
        return {name: value for name, value in found.items() if math.isfinite(value)}


class Meter:
    """Gathers an attempt's measures. `sample` is called with each beat, `row` by the thread that reads the runner."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._began = clock, clock()
        self._since = self._began
        self._guard = threading.Lock()
        self._stage = Stage.PREPARING
        self._box: Used | None = None
        self._gpu: Callable[[], GpuUse] = GpuUse
        self._cpu_before = 0.0  # of boxes that are closed
        self._cpu_at_start = 0.0  # of the stretch
        self._memory: list[int] = []
        self._uses: list[GpuUse] = []
        self._logged = {Series.TRAINING: _Rows(), Series.VALIDATION: _Rows()}
        self._ready: list[Measure] = []
        self._next = 0

    def watch(self, box: Used, gpu: Callable[[], GpuUse]) -> None:
        """A box begins to work for the attempt; the one before it has ended.

        What it used before is not the attempt's: a box that was kept ready has loaded its libraries already.
        """
        with self._guard:
            if self._box is not None:
                self._cpu_before += self._box.usage().cpu_seconds
            self._cpu_before -= box.usage().cpu_seconds
            self._box, self._gpu = box, gpu

    def rest(self) -> None:
        """The last box is about to be closed: from here on nothing is measured."""
        with self._guard:
            self._close()
            self._box = None

    def enter(self, stage: Stage) -> None:
        """A stage begins: what was measured so far is of the one before."""
        if stage != self._stage:
            with self._guard:
                self._close()
                self._stage = stage

    def row(self, row: LoggerRow) -> None:
        """A row of the submission's logger."""
        with self._guard:
            self._logged[Series.VALIDATION if row.validation else Series.TRAINING].add(row)

    def sample(self) -> None:
        """Look once, and end the stretch when it is long enough."""
        use = self._gpu() if self._box is not None else GpuUse()  # asks a program: not under the lock
        with self._guard:
            self._look()
            self._uses.append(use)
            now = self._clock()
            if now - self._since >= max(0.9 * HEARTBEAT_SECONDS, (now - self._began) / STRETCHES):
                self._close()

    def take(self, everything: bool = False) -> list[Measure]:
        """The measures that wait to be sent; with `everything` the stretch that goes on ends now."""
        with self._guard:
            if everything:
                self._close()
            taken, self._ready = self._ready[:MOST_A_BEAT], self._ready[MOST_A_BEAT:]
            return taken

    def give_back(self, measures: list[Measure]) -> None:
        """They could not be sent: the next beat takes them."""
        with self._guard:
            self._ready[:0] = measures

    def _look(self) -> float:
        """Note the memory in use now; the seconds of CPU of all boxes so far."""
        if self._box is None:
            return self._cpu_before
        used = self._box.usage()
        if used.memory_bytes is not None:
            self._memory.append(used.memory_bytes)
        return self._cpu_before + used.cpu_seconds

    def _close(self) -> None:
        now = self._clock()
        width = now - self._since
        cpu = self._look()  # a stretch may be shorter than a beat
        if self._box is not None and width > 0:
            shares = [use.share for use in self._uses if use.share is not None]
            self._add(
                Series.RESOURCES,
                cpu_cores=max(0.0, cpu - self._cpu_at_start) / width,
                memory_bytes=max(self._memory, default=None),
                gpu_share=sum(shares) / len(shares) if shares else None,
                gpu_memory_bytes=max(
                    (use.memory_bytes for use in self._uses if use.memory_bytes), default=None
                ),
            )
        for series, logged in self._logged.items():
            if logged.rows:
                self._add(series, step=logged.step, rows=logged.rows, **logged.means())
                self._logged[series] = _Rows()
        self._since, self._cpu_at_start = now, cpu
        self._memory, self._uses = [], []

    def _add(self, series: Series, **figures: float | int | None) -> None:
        now = self._clock()
        told = {name: value for name, value in figures.items() if value is not None}
        self._ready.append(
            Measure.model_validate(
                {
                    "seq": self._next,
                    "series": series,
                    "stage": self._stage,
                    "seconds": now - self._began,
                    "width": now - self._since,
                    **told,
                }
            )
        )
        self._next += 1
