"""The answers of a run are the same bit for bit however it ran: in one piece or many, isolated, in each sandbox."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from anyshot_core.baselines import find_baselines, pack_baseline
from anyshot_core.data.pool import Pool
from anyshot_core.protocols import AnyWayAnyShot, Range
from anyshot_core.taskserver.channel import Channel
from anyshot_core.taskserver.job import Hooks, JobOutcome, Resumed, TaskResult, TaskServerJob
from anyshot_core.taskserver.server import serve, serve_isolated
from anyshot_core.taskserver.tasks import PoolTasks
from anyshot_core.wire.worker_api import Budget, Limits
from anyshot_studies.experiment.arms import Arm
from anyshot_worker.sandbox import Sandboxes
from anyshot_worker.sandbox.bubblewrap import BubblewrapBackend
from anyshot_worker.sandbox.docker import REPOSITORY
from tests.baselines.trial import FOLDER
from tests.services.containers import why_no_gvisor
from tests.services.material import TEST, TRAIN
from tests.worker.sandbox.machine import sandbox_settings
from tests.worker.sandbox.test_bubblewrap import bubblewrap

__all__ = ["bubblewrap"]  # the fixture
TASKS = 8
LIMITS = Limits(memory_bytes=2 << 30, cpus=1.0)
FEWEST = {
    "width": 8,
    "stem_pool": 8,
    "iterations": 8,
    "test_steps": 5,
    "validate_every": 4,
    "validation_tasks": 3,
}


@dataclass(frozen=True)
class Ways:
    """The ways to run one job in boxes of a kind."""

    open: Callable[[], Channel]
    job: TaskServerJob
    folder: Path

    def whole(self) -> JobOutcome:
        """Train and test in one process; the learner is kept for the other ways."""
        return self._serve(replace(self.job, keep_learner=self.folder / "learner.bin"))

    def isolated(self) -> Sequence[TaskResult]:
        """The last two tasks, a process each."""
        tasks = self.job.tasks
        assert isinstance(tasks, PoolTasks)
        tested = replace(self.job, learner=self.folder / "learner.bin", tasks=replace(tasks, start=TASKS - 2))
        return serve_isolated(self.open, tested).results

    def in_shards(self) -> Sequence[TaskResult]:
        """Eight jobs of a task each, in a random order."""
        tasks = self.job.tasks
        assert isinstance(tasks, PoolTasks)
        parts = [
            replace(tasks, start=at, stop=at + 1)
            for at in np.random.default_rng(1).permutation(TASKS).tolist()
        ]
        tested = replace(self.job, learner=self.folder / "learner.bin")
        found = [self._serve(replace(tested, tasks=part)).results[0] for part in parts]
        return sorted(found, key=lambda one: one.index)

    def resumed(self) -> Sequence[TaskResult]:
        """Cut off after two tasks, three times."""
        tested, known = replace(self.job, learner=self.folder / "learner.bin"), Resumed()
        for done in (2, 4, 6, TASKS):
            outcome = self._serve(replace(tested, resumed=known), until=done)
            known = Resumed(outcome.results, outcome.time.participant)
        return known.results

    def _serve(self, job: TaskServerJob, until: int = TASKS) -> JobOutcome:
        answered = len(job.resumed.results) if job.resumed else 0

        def count(*_: object) -> None:
            nonlocal answered
            answered += 1

        with closing(self.open()) as channel:
            stops = Hooks(on_answer=count, stops=lambda: answered >= until)
            return serve(channel, job, stops)


def kinds_of_boxes(folder: Path, bubblewrap: BubblewrapBackend) -> Iterator[tuple[str, Sandboxes]]:
    yield "bubblewrap", Sandboxes(bubblewrap, bubblewrap.settings)
    for runtime in ("runc", "runsc"):
        if runtime == "runc" or not why_no_gvisor(f"{REPOSITORY}:cpu"):
            yield runtime, Sandboxes.from_settings(sandbox_settings(folder / runtime, runtime=runtime))


@pytest.mark.rotating
@pytest.mark.slow("seventeen boxes one after the other")
@pytest.mark.parametrize("name", ["prototypical_networks", "fo_maml", "fine_tuning"])
def test_answers_are_the_same_however_a_run_ran(
    name: str, sandbox_image: str, bubblewrap: BubblewrapBackend, demo_packs: dict[str, Path], tmp_path: Path
) -> None:
    """Trained and tested in each kind of box, and in one of them tested in each way."""
    bundle = tmp_path / "bundle.zip"
    baseline = find_baselines((name,), FOLDER)[0]
    changes = Arm(changes={"validation_datasets": 1, "method": FEWEST}).changes_of(baseline, "quick")
    pack_baseline(baseline, bundle, "quick", changes, ())
    pool = Pool.open([demo_packs[one] for one in TEST], verify=False)
    job = TaskServerJob(
        bundle=bundle,
        packs=tuple(demo_packs[one] for one in TRAIN),
        tasks=PoolTasks(pool, AnyWayAnyShot(ways=Range(2, 5), shots=Range(1, 3), query=5), 7, 0, TASKS),
        budget=Budget(run_seconds=600),
        query_secret=b"secret",
    )
    found = dict[str, list[bytes]]()
    for kind, sandboxes in kinds_of_boxes(tmp_path, bubblewrap):
        folder = tmp_path / f"{kind}-files"
        folder.mkdir()

        def open_box(boxes: Sandboxes = sandboxes) -> Channel:
            return boxes.open(None, LIMITS, "run", 1, eager=True).channel

        ways = Ways(open_box, job, folder)
        whole = ways.whole()
        assert whole.failure is None, whole.failure
        results = {"whole": whole.results}
        if kind == "runc":
            results |= {"isolated": ways.isolated(), "in shards": ways.in_shards(), "resumed": ways.resumed()}
        for way, answers in results.items():
            found[f"{kind}, {way}"] = [one.predictions.tobytes() for one in answers]
        sandboxes.close()
    first = next(iter(found.values()))
    assert len(first) == TASKS and len(set(first)) > 1
    assert [how for how, answers in found.items() if answers != first[-len(answers) :]] == []
    assert all(len(answers) in (2, TASKS) for answers in found.values())
