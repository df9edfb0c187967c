"""A run that loses its worker goes on where it stood, on another one, and ends with the same score."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from anyshot_core.wire.checkpoints import TRAINING
from anyshot_platform.judging.runs.models import Run, RunCheckpoint
from anyshot_platform.server.sweeper import sweep
from anyshot_worker import checkpoints
from tests.contract.stage import Stage, Wire
from tests.contract.test_jobs import submit

# Answers follow from random numbers of each kind, from the learner, and from nothing that ran before in the process.
RANDOM = """
import random
import time
import numpy as np
import torch
from api import *
torch.manual_seed(98)
class MyMetaLearner(MetaLearner):
    def meta_fit(self, train, valid):
        print("meta-training begins", flush=True)
        learner = MyLearner()
        learner.weight = torch.rand(1).item()
        return learner
class MyLearner(Learner):
    def fit(self, support):
        time.sleep(0.3)
        return MyPredictor(support[3], self.weight)
    def save(self, path): open(path + "/weight", "w").write(repr(self.weight))
    def load(self, path): self.weight = float(open(path + "/weight").read())
class MyPredictor(Predictor):
    def __init__(self, ways, weight): self.ways, self.weight = ways, weight
    def predict(self, images):
        noise = np.random.rand(len(images), self.ways) * self.weight + torch.rand(1).item() * random.random()
        return noise + images.mean((1, 2, 3)).numpy()[:, None] * np.arange(self.ways)
"""

# The same, of a learner that follows from the order of the data and from random numbers of training.
SAVING = RANDOM.replace(
    "        learner.weight = torch.rand(1).item()\n        return learner\n",
    """
        learner.weight = self.weight
        for task in train(40):
            learner.weight = self.weight = (self.weight + task.query_set[0].mean().item() + torch.rand(1).item()) / 3
            time.sleep(0.05)
        return learner
    weight = 0.0
    def checkpoint(self, path): open(path + "/weight", "w").write(repr(self.weight))
    def resume(self, path): self.weight = float(open(path + "/weight").read())
""",
)


class Cut(Wire):
    """A worker's wire on which, before its request number `moment`, the platform takes the worker for dead."""

    def __init__(self, stage: Stage, moment: int) -> None:
        super().__init__(stage.site.client, stage.recorder)
        self._stage, self._left = stage, moment

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if re.search("/(blobs|artifacts|complete)", request.url.path):
            self._left -= 1
            if self._left == 0:
                lose_run(self._stage)
        return super().handle_request(request)


def lose_run(stage: Stage) -> None:
    """Time passes, and the sweeper gives the run that is running to the next worker."""
    with stage.site.services.database.writing() as session:
        for run in session.scalars(select(Run).where(Run.worker_id.is_not(None), Run.finished_at.is_(None))):
            run.lease_expires_at = run.claimed_at
    sweep(stage.site.services)


def score_of(stage: Stage, person: Any, shown: str) -> Any:
    """The run of a submission that has finished: its score, and what it was charged."""
    seen = stage.shown(person, shown)
    assert seen["status"] == "finished", seen
    (run,) = seen["runs"]
    return run


def answers_stored(wire: Wire) -> list[tuple[int, int]]:
    """The places of the answers that a worker stored, file by file."""
    found = [
        re.search(r"checkpoint-answers-(\d+)-(\d+)", request.url.path)
        for request, answer in wire.exchanges
        if answer.is_success
    ]
    return [(int(one[1]), int(one[2])) for one in found if one]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer is stored as it comes."""
    monkeypatch.setattr(checkpoints, "SHORTEST", 0.01)


@pytest.fixture
def undisturbed(stage: Stage, soon: None) -> Any:
    """The run of the same code that one worker carried out."""
    person, shown = submit(stage, "undisturbed", RANDOM)
    stage.worker("steady").work()
    return score_of(stage, person, shown)


@pytest.mark.parametrize("moment", range(1, 21))
@pytest.mark.rotating
@pytest.mark.seconds("a run twice, by three workers")
def test_a_run_ends_with_one_score_and_the_same_whenever_its_worker_dies(
    stage: Stage, undisturbed: Any, moment: int
) -> None:
    alice, shown = submit(stage, "alice", RANDOM)
    dying = stage.worker("dying", Cut(stage, moment))
    dying.work()
    stage.worker("next").work()
    run = score_of(stage, alice, shown)
    assert run["score"] == undisturbed["score"]
    assert run["usage"]["participant_seconds"] < 3 * undisturbed["usage"]["participant_seconds"] + 5
    with stage.site.services.database.reading() as session:
        assert not session.scalars(select(RunCheckpoint)).all()


@pytest.mark.seconds("runs by several workers")
def test_what_is_done_is_not_done_again(stage: Stage, undisturbed: Any) -> None:
    """Two workers die amid the test: it is trained once, each task is answered once, and each second charged once."""
    alice, shown = submit(stage, "alice", RANDOM)
    workers = [stage.worker(f"dying-{moment}", Cut(stage, moment)) for moment in (12, 6)]
    for worker in workers:
        worker.work()
    workers.append(stage.worker("last"))
    workers[-1].work()
    run = score_of(stage, alice, shown)
    assert run["score"] == undisturbed["score"] and run["attempt"] == 3
    spans = [span for worker in workers for span in answers_stored(worker.wire) if span != (0, 0)]
    assert [first for first, _ in spans] == [0, *(stop for _, stop in spans[:-1])] and spans[-1][1] == 6
    said = stage.page(f"/submissions/{shown}/log", alice)
    assert said.count("meta-training begins") == 1
    earlier = run["provenance"]["earlier"]
    assert sum(one["tasks"] for one in earlier) == answers_stored(workers[-1].wire)[0][0]


@pytest.mark.seconds("runs by several workers")
def test_a_worker_that_stops_ends_its_task_and_hands_over(stage: Stage, undisturbed: Any) -> None:
    """A rolling upgrade repeats no work: what was answered is stored before the lease is given back."""
    alice, shown = submit(stage, "alice", RANDOM)
    stopping = stage.worker("stopping")
    real = stopping.wire.handle_request

    def stop(request: httpx.Request) -> httpx.Response:
        if re.search("checkpoint-answers-000000-00000[1-6]", request.url.path):
            stopping.site.draining.set()
        return real(request)

    stopping.wire.handle_request = stop
    stopping.work()
    seen = stage.shown(alice, shown)
    assert seen["status"] == "queued"
    done = answers_stored(stopping.wire)[-1][1]
    with stage.site.services.database.reading() as session:
        run = session.scalars(select(Run).where(Run.submission_id == shown)).one()
        assert run.tasks_done == done
        assert run.progress_message.endswith(f"It goes on after task {done} of 6.")
    following = stage.worker("following")
    following.work()
    assert score_of(stage, alice, shown)["score"] == undisturbed["score"]
    assert answers_stored(following.wire)[0][0] == done


def trainings_stored(wire: Wire) -> int:
    """How often a worker stored a training."""
    return sum(answer.is_success and TRAINING in request.url.path for request, answer in wire.exchanges)


@pytest.mark.seconds("runs by several workers")
def test_training_that_saves_itself_goes_on_where_it_stood(stage: Stage, soon: None) -> None:
    """A worker dies in training, the next one is stopped there: the score is that of a run that nothing disturbed."""
    person, shown = submit(stage, "undisturbed", SAVING)
    stage.worker("steady").work()
    undisturbed = score_of(stage, person, shown)
    alice, shown = submit(stage, "alice", SAVING)
    dying, stopping, last = stage.worker("dying"), stage.worker("stopping"), stage.worker("last")

    def after_training(worker: Any, end: Callable[[], None]) -> None:
        real = worker.wire.handle_request

        def handle(request: httpx.Request) -> httpx.Response:
            answer = real(request)
            if TRAINING in request.url.path:
                end()
            return answer

        worker.wire.handle_request = handle
        worker.work()

    after_training(dying, lambda: lose_run(stage))
    after_training(stopping, stopping.site.draining.set)
    with stage.site.services.database.reading() as session:
        run = session.scalars(select(Run).where(Run.submission_id == shown)).one()
        assert run.progress_message.endswith("It goes on in meta-training.")
    last.work()
    run = score_of(stage, alice, shown)
    assert run["score"] == undisturbed["score"] and run["attempt"] == 3
    assert trainings_stored(dying.wire) and trainings_stored(stopping.wire) >= 2
    assert [one["worker"] for one in run["provenance"]["earlier"]] == ["dying", "stopping"]
    said = stage.page(f"/submissions/{shown}/log", alice)
    assert (
        len(re.findall(r"goes on from where an earlier one stood: after \d+ s of meta-training", said)) == 2
    )
    spent = [one["usage"]["meta_train_seconds"] for one in (undisturbed, run)]
    assert spent[1] < 1.5 * spent[0] + 1
    with stage.site.services.database.reading() as session:
        assert not session.scalars(select(RunCheckpoint)).all()


@pytest.mark.seconds("runs by several workers")
def test_a_checkpoint_of_another_team_is_not_used(stage: Stage, undisturbed: Any) -> None:
    """Whatever is handed out: a file is of the code, the data and the seeds that it says, or the run begins again."""
    _, other = submit(stage, "bob", RANDOM.replace("rand(1).item() * random", "rand(1).item() - random"))
    stage.worker("first", Cut(stage, 12)).work()
    with stage.site.services.database.writing() as session:
        mine = select(Run.id).where(Run.submission_id == other)
        stolen = [
            (one.name, one.first, one.stop, one.digest, one.size)
            for one in session.scalars(select(RunCheckpoint).where(RunCheckpoint.run_id.in_(mine)))
        ]
    assert stolen
    stage.worker("second").work()
    alice, shown = submit(stage, "alice", RANDOM)
    with stage.site.services.database.writing() as session:
        run = session.scalars(select(Run).where(Run.submission_id == shown)).one()
        for name, first, stop, digest, size in stolen:
            files = {"name": name, "first": first, "stop": stop, "digest": digest, "size": size}
            session.add(RunCheckpoint(run_id=run.id, epoch=0, **files))
    stage.worker("third").work()
    assert score_of(stage, alice, shown)["score"] == undisturbed["score"]
    assert "A checkpoint of an earlier attempt cannot be used." in stage.page(
        f"/submissions/{shown}/log", alice
    )
