"""Snapshots of training: the learner as it was on the way, where the run asks for them.

The kit's loops take them by themselves. A loop of your own may call `checkpoint`; where no snapshots are asked for, it
does nothing and costs nothing.
"""

from __future__ import annotations

import copy
import math
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn

STATE = "state.pt"


class BadSnapshot(ValueError):
    """A snapshot that cannot be taken; the text says why."""


@dataclass
class _Taken:
    """The snapshots of this process: folders in order, each with its training loss."""

    folder: Path = field(default_factory=Path)
    wanted: int = 0
    losses: list[tuple[Path, float]] = field(default_factory=list)
    model: Any = None  # whose states wait in the folders, until its learner is there
    loops: int = 0
    number: int = 0

    def place(self, train_loss: float) -> Path:
        """A folder for one more; the oldest goes where there are as many as wanted."""
        if not math.isfinite(train_loss):
            raise BadSnapshot(f"A snapshot needs its training loss as a finite number; found {train_loss}.")
        if len(self.losses) == self.wanted:
            shutil.rmtree(self.losses.pop(0)[0])
        self.number += 1
        target = self.folder / f"{self.number:06}"
        target.mkdir(parents=True)
        self.losses.append((target, train_loss))
        return target

    def forget(self) -> None:
        """Drop all of them."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.losses.clear()


_taken = _Taken()


def begin(folder: Path, count: int) -> None:
    """Keep up to `count` snapshots below `folder` from now on."""
    global _taken
    _taken = _Taken(folder, count)


def wanted() -> int:
    """How many snapshots the run asks for; 0 for none."""
    return _taken.wanted


def checkpoint(learner: Any, train_loss: float) -> None:
    """Keep the learner as it is now, by its own `save`. The last `wanted()` are kept.

    Args:
        learner: what `meta_fit` would return now.
        train_loss: mean training loss since the snapshot before.

    Raises:
        BadSnapshot: the loss is no finite number.
    """
    if wanted():
        learner.save(str(_taken.place(float(train_loss))))


class Following:
    """Takes snapshots of a model in a loop, at equal parts of its training."""

    def __init__(self, model: nn.Module) -> None:
        self._model, self._sum, self._steps, self._due = model, 0.0, 0, 1
        if not wanted():
            return
        _taken.loops += 1
        if _taken.loops > 1:
            _taken.forget()
            print("Snapshots are those of one loop; this training has several, so none are kept.", flush=True)
        _taken.model = model

    @property
    def _follows(self) -> bool:
        return _taken.loops == 1 and _taken.model is self._model

    def loss(self, part: Tensor) -> None:
        """A part of the loss of a step."""
        if self._follows:
            self._sum += part.item()

    def at(self, share: float) -> None:
        """A step is done; take a snapshot where another of `wanted()` equal parts of the training is."""
        self._steps += 1
        if self._follows and share >= self._due / wanted() - 1e-9:
            self._due = math.floor(share * wanted() + 1e-9) + 1
            self._take()

    def end(self) -> None:
        """The last one, where training ended before its end."""
        if self._follows and self._steps and self._due <= wanted():
            self._take()

    def _take(self) -> None:
        import torch

        place = _taken.place(self._sum / max(1, self._steps))
        torch.save(self._model.state_dict(), place / STATE)
        self._sum, self._steps = 0.0, 0


def finish(learner: Any) -> list[float]:
    """Turn states of a model into learners, now that `meta_fit` has returned the one that has it; the losses, in order.

    The learner is as before afterwards.
    """
    waiting = [place for place, _ in _taken.losses if (place / STATE).exists()]
    if waiting:
        import torch

        model: nn.Module = _taken.model
        last = copy.deepcopy(model.state_dict())
        for place in waiting:
            model.load_state_dict(torch.load(place / STATE, weights_only=True))
            (place / STATE).unlink()
            learner.save(str(place))
        model.load_state_dict(last)
    return [loss for _, loss in _taken.losses]


def folder_of(number: int) -> Path:
    """Where the snapshot of that number, from 0, lies."""
    return _taken.losses[number][0]
