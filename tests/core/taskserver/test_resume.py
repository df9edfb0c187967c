"""A job that goes on from what earlier attempts did: the same answers, each second charged once."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from anyshot_core.taskserver.checkpoints import BadCheckpoint, Checkpoint, read_checkpoint
from anyshot_core.taskserver.job import JobOutcome, Resumed, TaskResult
from anyshot_core.taskserver.tasks import PoolTasks
from anyshot_core.wire.verdicts import Verdict
from tests.core.conftest import HONEST, Runs
from tests.core.taskserver.test_joined import RANDOM, same

SLOW_IMPORT = RANDOM.replace("import random\n", "import random, time\ntime.sleep(0.5)\n", 1)


def resumed(
    runs: Runs, model: str, learner: Path, whole: JobOutcome, done: int, isolated: bool = False
) -> JobOutcome:
    """The job after `done` answers, in a new process."""
    earlier = Resumed(whole.results[:done], dict(whole.time.participant))
    return runs.run(model, learner=learner, resumed=earlier, isolated=isolated)


@pytest.mark.seconds("runs a submission four times")
def test_answers_are_the_same_whole_resumed_and_isolated(runs: Runs, tmp_path: Path) -> None:
    learner = tmp_path / "learner.bin"
    whole = runs.run(RANDOM, keep_learner=learner)
    assert whole.failure is None and len(whole.results) == 6
    ways = [resumed(runs, RANDOM, learner, whole, 2), resumed(runs, RANDOM, learner, whole, 5, isolated=True)]
    for other in (*ways, runs.run(RANDOM, isolated=True)):
        assert other.failure is None and all(map(same, whole.results, other.results))
    first, second = (result.predictions.tolist() for result in whole.results[:2])
    assert first[: len(second)] != second[: len(first)], (
        "or random numbers would be those of one task for all"
    )


@pytest.mark.seconds("imports a slow submission twice")
def test_an_import_is_charged_once_and_what_was_used_counts(runs: Runs, tmp_path: Path) -> None:
    learner = tmp_path / "learner.bin"
    whole = runs.run(SLOW_IMPORT, keep_learner=learner)
    again = resumed(runs, SLOW_IMPORT, learner, whole, 6)
    assert again.failure is None
    assert again.time.participant == pytest.approx(whole.time.participant)
    assert again.time.platform["restore"] >= 0.5
    spent = replace(whole, time=replace(whole.time, participant={"meta_fit": 60.0}))
    assert resumed(runs, SLOW_IMPORT, learner, spent, 2).verdict is Verdict.TIME_LIMIT


@pytest.mark.seconds("a submission in a child process")
def test_a_learner_that_is_too_large_to_keep_costs_nothing(runs: Runs, tmp_path: Path) -> None:
    """Nobody asked for it: the run is tested, and there is nothing to go on from."""
    large = HONEST.replace(
        'open(path_to_save + "/learner", "w").close()',
        'open(path_to_save + "/learner", "w").write("x" * 2048)',
    )
    caps = replace(runs.job.caps, learner_bytes=1024)
    kept = tmp_path / "learner.bin"
    assert runs.run(large, keep_learner=kept, learner_optional=True, caps=caps).failure is None
    assert kept.stat().st_size == 0
    assert runs.run(large, keep_learner=kept, caps=caps).failure is not None


def stored(
    tasks: PoolTasks, change: Callable[[TaskResult], TaskResult] = lambda result: result
) -> Checkpoint:
    """The answers to two tasks, all of them right; the second one has probabilities."""
    results = list[TaskResult]()
    for index in tasks.indices[:2]:
        spec = tasks.spec(index)
        labels = spec.query_labels
        shares = np.eye(spec.ways, dtype=np.float32)[labels] if index else None
        results.append(
            TaskResult(
                index, spec.dataset, spec.ways, spec.shots, labels, labels, 0.1, 0.2, 0.3, shares, "no doubt"
            )
        )
    return Checkpoint(
        "a" * 64, "b" * 64, 0, tuple(change(result) for result in results), {"meta_fit": 7.5}, tables=b"zip"
    )


def test_a_checkpoint_says_what_was_answered(tasks: PoolTasks) -> None:
    written = stored(tasks)
    read = read_checkpoint(written.to_bytes(), tasks, "a" * 64)
    assert (read.learner, read.first, read.seconds, read.tables) == ("b" * 64, 0, {"meta_fit": 7.5}, b"zip")
    for one, other in zip(written.results, read.results, strict=True):
        assert same(one, other) and np.array_equal(one.labels, other.labels)
        assert (one.load_seconds, one.fit_seconds, one.predict_seconds) == (0.1, 0.2, 0.3) and other.doubt
        assert str(one.probabilities) == str(other.probabilities)


def test_no_other_file_is_taken_for_a_checkpoint(tasks: PoolTasks) -> None:
    content = stored(tasks).to_bytes()
    with pytest.raises(BadCheckpoint, match="another job"):
        read_checkpoint(content, tasks, "c" * 64)
    changes: dict[str, Callable[[TaskResult], TaskResult]] = {
        "labels outside": lambda one: replace(one, predictions=one.predictions + one.ways),
        "in the place of task": lambda one: replace(one, index=one.index + 1),
    }
    for words, change in changes.items():
        with pytest.raises(BadCheckpoint, match=words):
            read_checkpoint(stored(tasks, change).to_bytes(), tasks, "a" * 64)
    with pytest.raises(BadCheckpoint, match="7 answers to 6 tasks"):
        read_checkpoint(replace(stored(tasks), first=5).to_bytes(), tasks, "a" * 64)
    for cut in (b"", content[:3], content[:40], content[:-400]):
        with pytest.raises(BadCheckpoint):
            read_checkpoint(cut, tasks, "a" * 64)
