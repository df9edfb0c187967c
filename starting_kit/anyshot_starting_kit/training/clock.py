"""Training by the time that is left."""

from __future__ import annotations

import time

import torch

from anyshot_starting_kit import budget

STAGE_SHARE = 0.9  # of a limit on meta-training alone: saving the learner counts too


class Clock:
    """Over when a share of the run's time, or nearly all of meta-training's, is used up."""

    def __init__(self, share: float) -> None:
        left = budget.remaining()
        self._end = time.monotonic() + min(left.run * share, left.stage * STAGE_SHARE)

    @property
    def left(self) -> float:
        """Seconds; infinity without a limit."""
        return max(0.0, self._end - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether it is time to stop."""
        return self.left <= 0.0


def device() -> torch.device:
    """The GPU where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
