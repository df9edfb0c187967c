"""A tiny pool, bundles written in place, and quick real runners."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anyshot_core.bundle.pack import pack_folder
from anyshot_core.data.pool import Pool
from anyshot_core.protocols import AnyWayAnyShot, Range
from anyshot_core.taskserver.child import ChildChannel
from anyshot_core.taskserver.job import Hooks, JobOutcome, LogLine, ServerProgress, TaskServerJob
from anyshot_core.taskserver.server import serve, serve_isolated
from anyshot_core.taskserver.tasks import PoolTasks
from anyshot_core.wire.worker_api import Budget
from tests.core.tinydata import write_pack

HONEST = """
import numpy as np
import torch
from api import Learner, MetaLearner, Predictor


class MyMetaLearner(MetaLearner):
    def meta_fit(self, meta_train_generator, meta_valid_generator):
        return MyLearner()


class MyLearner(Learner):
    def fit(self, support_set):
        X, y, original_y, n_ways, k_shots = support_set
        means = torch.stack([X[y == label].mean() for label in range(n_ways)])
        return MyPredictor(means)

    def save(self, path_to_save):
        open(path_to_save + "/learner", "w").close()

    def load(self, path_to_load):
        open(path_to_load + "/learner").close()


class MyPredictor(Predictor):
    def __init__(self, means):
        self.means = means

    def predict(self, query_set):
        return -(query_set.mean((1, 2, 3))[:, None] - self.means[None]).abs().numpy()
"""


@pytest.fixture(scope="session")
def packs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Four packs of five classes with twelve images."""
    folder = tmp_path_factory.mktemp("packs")
    return tuple(write_pack(folder, f"SET_{number}", seed=number) for number in range(4))


@pytest.fixture(scope="session")
def tasks(packs: tuple[Path, ...]) -> PoolTasks:
    """Six tasks of two or three ways on the last two packs."""
    pool = Pool.open(packs[2:], verify=False)
    return PoolTasks(
        pool, AnyWayAnyShot(ways=Range(2, 3), shots=Range(1, 2), query=3), seed=5, start=0, stop=6
    )


class Runs:
    """Runs bundles that a test writes; keeps what the hooks heard."""

    def __init__(self, folder: Path, job: TaskServerJob) -> None:
        self.folder, self.job = folder, job
        self.lines: list[LogLine] = []
        self.progress: list[ServerProgress] = []
        self.cancelled: Callable[[], bool] = lambda: False

    @property
    def tasks(self) -> PoolTasks:
        """The job's tasks, which are drawn from a pool."""
        assert isinstance(self.job.tasks, PoolTasks)
        return self.job.tasks

    def open_channel(self) -> ChildChannel:
        return ChildChannel()

    def bundle(self, model: str, files: dict[str, str] | None = None) -> Path:
        source = self.folder / "bundle"
        source.mkdir(exist_ok=True)
        for name, text in {"model.py": model, **(files or {})}.items():
            (source / name).write_text(text)
        pack_folder(source, self.folder / "bundle.zip")
        return self.folder / "bundle.zip"

    def run(
        self,
        model: str = HONEST,
        *,
        files: dict[str, str] | None = None,
        isolated: bool = False,
        listening: dict[str, Any] | None = None,
        **changes: Any,
    ) -> JobOutcome:
        """Serve the job with this model.py; `changes` are fields of the job, `listening` further hooks."""
        job = replace(self.job, bundle=self.bundle(model, files), **changes)
        usual = Hooks(
            on_progress=self.progress.append, on_log=self.lines.append, cancelled=lambda: self.cancelled()
        )
        hooks = replace(usual, **(listening or {}))
        if isolated:
            return serve_isolated(self.open_channel, job, hooks)
        channel = self.open_channel()
        try:
            return serve(channel, job, hooks)
        finally:
            channel.close()


@pytest.fixture
def runs(tmp_path: Path, packs: tuple[Path, ...], tasks: PoolTasks) -> Runs:
    job = TaskServerJob(
        bundle=tmp_path / "none",
        packs=packs[:2],
        tasks=tasks,
        budget=Budget(run_seconds=60),
        query_secret=b"secret",
        start_seconds=60,
    )
    return Runs(tmp_path, job)
