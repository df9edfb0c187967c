"""Several tests of one learner in one job end as jobs of their own would, to the last digit."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from anyshot_core.protocols import AnyWayAnyShot, Range
from anyshot_core.taskserver.job import JobOutcome, TaskResult, TaskServerJob
from anyshot_core.taskserver.joined import serve_parts
from anyshot_core.taskserver.server import serve as server_serve
from anyshot_core.taskserver.tasks import PoolTasks
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Budget
from tests.core.conftest import HONEST, Runs

# Answers follow from random numbers of each kind, from the order in which the query is shown, and from the import.
RANDOM = HONEST.replace(
    "class MyMetaLearner",
    "import random\n\nrandom.random(), torch.manual_seed(7)\n\n\nclass MyMetaLearner",
    1,
).replace(
    "return -(query_set.mean((1, 2, 3))[:, None] - self.means[None]).abs().numpy()",
    "noise = np.random.rand(len(query_set), len(self.means)) + torch.rand(1).item() * random.random()\n"
    "        shades = query_set.mean((1, 2, 3)).numpy().cumsum(0)[:, None] % 1\n"
    "        return noise - shades * np.arange(len(self.means))",
)
FAILING = RANDOM.replace(
    "        means =", '        if k_shots == 2:\n            raise KeyError("two")\n        means =', 1
)


@pytest.fixture
def parts(runs: Runs) -> list[PoolTasks]:
    """One, two and three shots: four tasks each, of the same indices."""
    return [
        replace(runs.tasks, protocol=AnyWayAnyShot(ways=Range(2, 3), shots=Range(k, k), query=5), stop=4)
        for k in (1, 2, 3)
    ]


def trained(runs: Runs, model: str, folder: Path) -> TaskServerJob:
    """A job that starts from a learner that is kept."""
    learner = folder / "learner.bin"
    assert runs.run(model, tasks=None, keep_learner=learner).failure is None
    return replace(runs.job, bundle=runs.bundle(model), packs=(), learner=learner)


def serve(runs: Runs, job: TaskServerJob) -> JobOutcome:
    channel = runs.open_channel()
    try:
        return server_serve(channel, job)
    finally:
        channel.close()


def same(one: TaskResult, other: TaskResult) -> bool:
    return one.index == other.index and np.array_equal(one.predictions, other.predictions)


@pytest.mark.seconds("runs each part twice")
def test_each_part_is_answered_as_in_a_job_of_its_own(
    runs: Runs, parts: list[PoolTasks], tmp_path: Path
) -> None:
    job, opened = trained(runs, RANDOM, tmp_path), list[TaskServerJob]()

    def counted(joined: TaskServerJob) -> JobOutcome:
        opened.append(joined)
        return serve(runs, joined)

    together = serve_parts(counted, job, parts)
    alone = [serve(runs, replace(job, tasks=part)) for part in parts]
    assert len(opened) == 1 and opened[0].budget.run_seconds == 3 * job.budget.run_seconds
    for one, other in zip(together, alone, strict=True):
        assert one.failure is None and len(one.results) == 4
        assert all(map(same, one.results, other.results))
    answers = [np.concatenate([result.predictions for result in one.results]) for one in alone]
    assert len({tuple(answer) for answer in answers}) == 3, (
        "or this test would not tell parts from each other"
    )
    steps = [one.time.participant for one in together]
    assert "import" in steps[0] and "import" not in steps[1]


@pytest.mark.seconds("runs each part twice")
def test_a_part_that_fails_fails_alone(runs: Runs, parts: list[PoolTasks], tmp_path: Path) -> None:
    job = trained(runs, FAILING, tmp_path)
    first, second, third = serve_parts(lambda joined: serve(runs, joined), job, parts)
    assert second.verdict is Verdict.RUNTIME_ERROR and second.failure is not None
    assert second.failure.task_index == 0 and second.results == ()
    for found, part in ((first, parts[0]), (third, parts[2])):
        alone = serve(runs, replace(job, tasks=part))
        assert found.failure is None and all(map(same, found.results, alone.results))


@pytest.mark.seconds("waits for time limits of the runner", each_time=True)
def test_what_is_no_fault_of_the_code_ends_all_that_are_left(runs: Runs, parts: list[PoolTasks]) -> None:
    """Without a runner, no part can be tested: it is tried once, not once a part."""
    tried = list[TaskServerJob]()

    def no_sandbox(job: TaskServerJob) -> JobOutcome:
        tried.append(job)
        runs.cancelled = lambda: True
        return runs.run(budget=Budget(run_seconds=9), tasks=job.tasks)

    found = serve_parts(no_sandbox, runs.job, parts)
    assert [one.verdict for one in found] == [Verdict.CANCELLED] * 3 and len(tried) == 1
