"""Learning rates over time, as a share of the first one."""

import math
import re
from collections.abc import Callable

from anyshot_starting_kit.training.settings import BadSettings, LoopSettings

Schedule = Callable[[int, float], float]
"""(optimiser's steps so far, the share of training that is over in [0, 1]) to the share of the first rate."""

_STEP = re.compile(r"(\d+)\(([0-9.]+(?:e[+-]?\d+)?)\)")


def make_schedule(settings: LoopSettings) -> Schedule:
    """The one that `schedule` names. Raises BadSettings for an unknown one, or whose first rate is another."""
    if settings.schedule == "constant":
        return lambda steps, progress: 1.0
    if settings.schedule == "cosine":  # half a cosine to none (Loshchilov and Hutter 2017, eq. 5)
        return lambda steps, progress: (1 + math.cos(math.pi * min(1.0, progress))) / 2
    stairs = read_stairs(settings.schedule)
    if stairs[0] != (0, settings.learning_rate):
        raise BadSettings(
            f"config.json: method.schedule begins with {stairs[0][0]}({stairs[0][1]:g}); with method.learning_rate"
            f" {settings.learning_rate:g} it begins with 0({settings.learning_rate:g})."
        )

    def share(steps: int, progress: float) -> float:
        epoch = steps // settings.epoch_steps
        return next(rate for first, rate in reversed(stairs) if epoch >= first) / settings.learning_rate

    return share


def read_stairs(text: str) -> list[tuple[int, float]]:
    """(first epoch, rate) of each stair of `0(0.1)-20(6e-3)`, as Setlur et al. write them. Raises BadSettings."""
    parts = _STEP.findall(text)
    stairs = [(int(epoch), float(rate)) for epoch, rate in parts]
    written = "-".join(f"{epoch}({rate})" for epoch, rate in parts)
    if not stairs or written != text or [epoch for epoch, _ in stairs] != sorted({e for e, _ in stairs}):
        raise BadSettings(
            f"config.json: method.schedule is {text!r}; there are constant, cosine and stairs such as"
            " 0(0.1)-20(6e-3): the epochs, ascending, from which each rate holds."
        )
    return stairs
