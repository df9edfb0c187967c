"""Training by the time that is left."""

from __future__ import annotations

import math
import time

import torch

from anyshot_starting_kit import budget

STAGE_SHARE = 0.9  # of a limit on meta-training alone: saving the learner counts too
TASK_SHARE = 0.5


class Clock:
    """Over when a share of the run's time, or nearly all of meta-training's, is used up; or a share of `of` seconds."""

    def __init__(self, share: float, of: float | None = None) -> None:
        left = budget.remaining()
        self._seconds = min(left.run * share, left.stage * STAGE_SHARE) if of is None else of * share
        self._began = time.monotonic()

    def part(self, share: float) -> Clock:
        """A clock for that share, above 0, of what is left of this one."""
        return Clock(share, of=self.left)

    @classmethod
    def of_task(cls) -> Clock:
        """For adapting to a task at test time: half of its time, so that predicting has the other half."""
        return cls(TASK_SHARE, of=budget.remaining().task)

    @property
    def left(self) -> float:
        """Seconds; infinity without a limit."""
        return max(0.0, self._began + self._seconds - time.monotonic())

    @property
    def used(self) -> float:
        """The share that has passed, in [0, 1]; 0 without a limit."""
        return 1.0 - self.left / self._seconds if 0.0 < self._seconds < math.inf else float(self.over)

    @property
    def over(self) -> bool:
        """Whether it is time to stop."""
        return self.left <= 0.0


def device() -> torch.device:
    """The GPU where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
