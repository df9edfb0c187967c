"""Tasks through the runner to a learner that does nothing, and back."""

import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

from anyshot_core.data.pool import Pool
from anyshot_core.protocols import AnyWayAnyShot
from anyshot_core.taskserver.job import Hooks, JobOutcome, ServerProgress, TaskServerJob
from anyshot_core.taskserver.server import serve
from anyshot_core.taskserver.tasks import PoolTasks
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Budget, Stage
from anyshot_starting_kit.dryrun.evaluate import channel_opener

DOES_NOTHING = """
import numpy as np
from api import MetaLearner, Learner, Predictor


class MyMetaLearner(MetaLearner):
    def meta_fit(self, meta_train_generator, meta_valid_generator):
        return MyLearner()


class MyLearner(Learner):
    def fit(self, support_set):
        return MyPredictor()

    def save(self, path_to_save):
        pass

    def load(self, path_to_load):
        pass


class MyPredictor(Predictor):
    def predict(self, query_set):
        return np.zeros(len(query_set), dtype=np.int64)
"""


@dataclass(frozen=True)
class Passage:
    """Images a second from the first task due to the last prediction, and the seconds of it by step."""

    rate: float
    steps: dict[str, float]


def pass_tasks(pool: Pool, tasks: int, sandbox: str | None) -> Passage:
    """Run the learner on `tasks` tasks in a child process, or in the sandbox of that name."""
    source = PoolTasks(pool, AnyWayAnyShot(), 2022, 0, tasks)
    images = sum(len(source.spec(index).rows) for index in source.indices)
    started: list[float] = []

    def note(progress: ServerProgress) -> None:
        if progress.stage is Stage.META_TESTING and not started:
            started.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / "nothing.zip"
        with ZipFile(bundle, "w") as content:
            content.writestr("model.py", DOES_NOTHING)
        job = TaskServerJob(bundle, (pool[0].path,), source, Budget(run_seconds=3600), query_secret=b"bench")
        with closing(channel_opener(sandbox, 1, 4 << 30)()) as channel:
            outcome = serve(channel, job, Hooks(on_progress=note))
    _require_success(outcome)
    return Passage(
        images / (time.perf_counter() - started[0]), {**outcome.time.platform, **outcome.time.participant}
    )


def _require_success(outcome: JobOutcome) -> None:
    if outcome.failure is not None:
        raise RuntimeError(f"{outcome.failure.verdict or Verdict.TASK_SERVER_BUG}: {outcome.failure.message}")
