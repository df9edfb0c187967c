"""How often a meta-learner saves itself while it trains: what it costs, and what it would lose."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from anyshot_core.wire.messages import CheckpointMode
from anyshot_starting_kit.runner.checkpoints import TrainingCheckpoints
from anyshot_starting_kit.runner.generators import MetaTrainingData, TaskGenerator
from anyshot_starting_kit.runner.logger import Logger


class Numbers(TaskGenerator):
    """Yields numbers for tasks."""

    def __init__(self) -> None:
        pass

    def __call__(self, count: int, skip: int = 0) -> Iterator[Any]:
        yield from range(skip, count)


class Trial:
    """A training of a second an item, each of whose checkpoints costs `cost` seconds."""

    def __init__(self, folder: Path, cost: float) -> None:
        self.now, self.saved = 0.0, list[float]()
        trial = self

        class Learner:
            def checkpoint(self, path: str) -> None:
                trial.now += cost

            def resume(self, path: str) -> None: ...

        self.checkpoints = TrainingCheckpoints(
            folder / "checkpoint",
            CheckpointMode.KEEP,
            5.0,
            lambda _: self.saved.append(self.now),
            lambda: False,
            lambda: self.now,
        )
        self.checkpoints.begin(Learner, Logger(str(folder)))
        self.train = self.checkpoints.follow(MetaTrainingData(None, 0, Numbers(), None)).train

    def run(self, items: int) -> list[float]:
        """Train; seconds from one checkpoint to the next."""
        for _ in self.train(items):
            self.now += 1.0
        return [later - sooner for sooner, later in zip([0.0, *self.saved], self.saved, strict=False)]


@pytest.mark.parametrize(
    ("cost", "items", "fits"),
    [
        (0.0, 200, lambda first, last: first == last == 5),  # the shortest pause
        (0.5, 1000, lambda first, last: first < 6 and 50 <= last <= 52),  # a hundredth of the time
        (
            0.0,
            20_000,
            lambda first, last: first == 5 and last == 180,
        ),  # in a long training every three minutes
    ],
)
def test_checkpoints_come_as_often_as_they_may_cost(
    tmp_path: Path, cost: float, items: int, fits: Callable[[float, float], bool]
) -> None:
    pauses = Trial(tmp_path, cost).run(items)
    assert fits(pauses[0], pauses[-1]), pauses


def test_a_thread_that_reads_ahead_takes_no_checkpoint(tmp_path: Path) -> None:
    """What it has read is not trained on yet."""
    trial = Trial(tmp_path, 0.0)
    reader = threading.Thread(target=trial.run, args=(100,))
    reader.start()
    reader.join()
    assert trial.saved == []
