"""How fast something goes, by the clock and by the processor."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Rate:
    """Things (images, tasks) a second of the wall clock, and of this process's processor time."""

    wall: float
    processor: float

    @classmethod
    def of(cls, work: Callable[[], int]) -> Rate:
        """`work` returns how many things it did."""
        wall, processor = time.perf_counter(), time.process_time()
        count = work()
        return cls(count / (time.perf_counter() - wall), count / (time.process_time() - processor))
