"""A worker shows queries in an order that the submission cannot know from its assignment."""

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from anyshot_core.results import read_predictions
from anyshot_worker.carry_out import carry_out
from anyshot_worker.sandbox import Sandboxes, SandboxSettings
from tests.worker.test_attempt import Stage

COUNTING = """
import numpy as np
from api import *
class MyMetaLearner(MetaLearner):
    def meta_fit(self, train, valid): return MyLearner()
class MyLearner(Learner):
    def fit(self, support): return Counts(support[3])
    def save(self, path): pass
    def load(self, path): pass
class Counts(Predictor):
    def __init__(self, ways):
        super().__init__()
        self.ways = ways
    def predict(self, query): return np.eye(self.ways)[np.arange(len(query)) % self.ways]
"""


@pytest.fixture
def sandboxes(tmp_path: Path) -> Iterator[Sandboxes]:
    settings = SandboxSettings(
        sandbox="trusted", trust_all_submissions=True, state_folder=tmp_path / "state", pool_size=0
    )
    made = Sandboxes.from_settings(settings)
    yield made
    made.close()


def answered(stage: Stage, test_seed: int) -> list[list[int]]:
    """What a submission that answers 0, 1, 2, ... in the order it is shown has answered, in the protocol's order."""
    carry_out(stage.assignment(stage.folder / "code.zip", test_seed=test_seed), stage.site)
    assert not stage.platform.failed
    found = read_predictions(io.BytesIO(stage.platform.artifacts["predictions.parquet"])).predictions
    return [part.tolist() for part in np.split(found.predictions, found.offsets[1:-1])]


def test_the_order_that_code_sees_is_not_the_protocols(
    tmp_path: Path, demo_packs: dict[str, Path], sandboxes: Sandboxes
) -> None:
    stage = Stage(tmp_path, demo_packs, sandboxes)
    stage.code(COUNTING)
    tasks = answered(stage, test_seed=94)
    ways = [max(task) + 1 for task in tasks]
    assert len(tasks) == 6
    for task, count in zip(tasks, ways, strict=True):
        assert task != (np.arange(len(task)) % count).tolist()
    assert answered(stage, test_seed=94) == tasks, "every entrant sees the same order"
