"""Checkpoints of meta-training, for meta-learners that have the optional methods `checkpoint(path)` and `resume(path)`.

One is taken between two items of the training generator, in the participant's time: as often as that costs a hundredth
of it. With what `checkpoint` writes go the random numbers, the logger's counts and the place in the data, so that
training ends as it would have without a break.
"""

import os
import pickle
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anyshot_core.wire.messages import CheckpointMode
from anyshot_starting_kit.runner.generators import BatchGenerator, MetaTrainingData, TaskGenerator
from anyshot_starting_kit.runner.logger import Logger
from anyshot_starting_kit.runner.random_state import RandomState, random_state, restore_random_state
from anyshot_starting_kit.runner.stream import StreamEnded

METHODS = ("checkpoint", "resume")
_COST = 100  # times as long as a checkpoint took, until the next one
_SHARE = 0.02  # of the training so far, likewise
_LONGEST = 180.0  # seconds, unless the cost asks for more


def saves_training(meta_learner: Any) -> bool:
    """Whether a class has both methods."""
    return all(callable(getattr(meta_learner, name, None)) for name in METHODS)


@dataclass(frozen=True)
class _State:
    """What the runner keeps beside what the participant's code saves."""

    random: RandomState
    rows: tuple[int, int, int]  # the logger's counts
    start: int  # the place in the data at which the call of the generator began
    taken: int  # items that the call had yielded


class TrainingCheckpoints:
    """Saves a training through `send(folder)`, and goes on from one that lies in `folder`."""

    def __init__(
        self,
        folder: Path,
        wanted: CheckpointMode,
        pause: float,
        send: Callable[[Path], None],
        asked: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`pause` seconds are between two at least; `asked` tells whether the task server wants one now."""
        self._folder, self._wanted, self._send, self._asked, self._clock = folder, wanted, send, asked, clock
        self._least = pause
        self._meta_learner: Any = None
        self._logger: Logger | None = None
        self._make: Callable[[], Any] = lambda: None
        self._resumed: _State | None = None
        self._call: Any = None  # the newest call of the generator
        self._began = self._last = clock()
        self._cost = 0.0
        self._process = os.getpid()

    def begin(self, make: Callable[[], Any], logger: Logger) -> Any:
        """The meta-learner that `make` makes; where a checkpoint lies in the folder, it has resumed from it."""
        self._make, self._logger = make, logger
        meta_learner = make()
        if not saves_training(type(meta_learner)):
            return meta_learner
        if self._folder.exists():
            self._resumed = _resume(self._folder, meta_learner)
            logger.restore(self._resumed.rows)
        if self._wanted is not CheckpointMode.NONE:
            self._meta_learner = meta_learner
        self._began = self._last = self._clock()
        return meta_learner

    def follow(self, data: MetaTrainingData) -> MetaTrainingData:
        """The same data, and checkpoints are taken between items of training."""
        generate = data.train
        assert isinstance(generate, TaskGenerator | BatchGenerator)
        return replace(data, train=lambda count: self._items(generate, count))

    def _items(self, generate: TaskGenerator | BatchGenerator, count: int) -> Iterator[Any]:
        self._call = call = object()
        state, self._resumed = self._resumed, None
        start, taken = (generate.position, 0) if state is None else (state.start, state.taken)
        items = generate(count) if state is None else generate(start + count, skip=start + taken)
        if state is not None:
            restore_random_state(state.random)
        while True:
            if self._call is call and self._is_due(taken):
                self._take(start, taken)
            try:
                item = next(items)
            except StopIteration:
                return
            taken += 1
            yield item

    def _is_due(self, taken: int) -> bool:
        if self._meta_learner is None or os.getpid() != self._process:
            return False
        if threading.current_thread() is not threading.main_thread():
            return False
        if self._wanted is CheckpointMode.TRY:
            return taken > 0
        now = self._clock()
        pause = max(_COST * self._cost, min(_SHARE * (now - self._began), _LONGEST), self._least)
        return now - self._last >= pause or self._asked()

    def _take(self, start: int, taken: int) -> None:
        began, random = self._clock(), random_state()
        try:
            self._save(random, start, taken)
            if self._wanted is CheckpointMode.TRY:
                _resume(self._folder, self._make())
                self._meta_learner = None  # once is enough
            else:
                self._send(self._folder)
        except StreamEnded:
            raise
        except Exception:
            if self._wanted is CheckpointMode.TRY:
                raise
            traceback.print_exc()
            print("No more checkpoints are taken: `checkpoint` failed.", file=sys.stderr)
            self._meta_learner = None
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
            restore_random_state(random)
            self._last = self._clock()
            self._cost = self._last - began

    def _save(self, random: RandomState, start: int, taken: int) -> None:
        assert self._logger is not None
        own = self._folder / "own"
        own.mkdir(parents=True)
        self._meta_learner.checkpoint(str(own))
        state = _State(random, self._logger.counts, start, taken)
        (self._folder / "runner").write_bytes(pickle.dumps(state))


def _resume(folder: Path, meta_learner: Any) -> _State:
    state: _State = pickle.loads((folder / "runner").read_bytes())
    meta_learner.resume(str(folder / "own"))
    shutil.rmtree(folder)
    return state
