"""How much time is left, for participants' code: `from anyshot_starting_kit import budget; budget.remaining()`.

The task server states the remaining seconds with each command; the rest is subtraction on the monotonic
clock, so a call costs nothing and needs no answer from outside. It informs; the task server alone decides.
"""

import math
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remaining:
    """Seconds left; infinity where there is no limit (or no task server, as in a notebook).

    `run` is what is left of the whole run, `stage` of meta-training (during meta-test the same as `run`), `task` of the
    task being fitted or predicted. `least` is the smallest of the three: when it is zero the run ends.
    """

    run: float
    stage: float
    task: float

    @property
    def least(self) -> float:
        return min(self.run, self.stage, self.task)


_stated = (Remaining(math.inf, math.inf, math.inf), 0.0)


def state(run: float, stage: float, task: float) -> None:
    """Called by the runner when a command arrives."""
    global _stated
    _stated = (Remaining(run, stage, task), time.monotonic())


def remaining() -> Remaining:
    """What is left now, never below zero."""
    left, since = _stated
    passed = time.monotonic() - since
    return Remaining(*(max(0.0, seconds - passed) for seconds in (left.run, left.stage, left.task)))
