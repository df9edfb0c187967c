"""A busy site and its workers are upgraded, site first or workers first: real workers, in the words of both releases.

A worker of the last release is today's whose messages are cut down to what that release said, and which is given what
that release could read; a site of the last release refuses what it did not know. In between, runs are held, queued,
given back and lost.
"""

from __future__ import annotations

import json
import threading
from datetime import timedelta

import httpx
import pytest
from fastapi.testclient import TestClient
from pydantic import ValidationError
from sqlalchemy import func, select, update

from anyshot_core.wire.jobs import Job
from anyshot_core.wire.worker_api import Complete, Progress, RunSummary
from anyshot_core.wire.worker_api import Stage as RunStage
from anyshot_platform.database import now
from anyshot_platform.phases.states import QueryOrder
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.states import RunState
from anyshot_platform.scores.models import RunScore, SubmissionScore
from anyshot_platform.sweeper import sweep
from anyshot_worker.client import StaleEpoch
from tests.contract import release_1
from tests.contract.stage import RealWorker, Stage, Wire
from tests.contract.test_releases import MESSAGES, old_words, quota, refusal
from tests.platform.site import Person, make_zip, summary
from tests.worker.test_query_order import COUNTING

SEEDS = {"train_seeds": [1, 2], "test_seeds": [94, 95]}


def in_old_words(message: type[release_1.Message], content: bytes) -> bytes:
    """What a worker of the last release would have said: all fields that it had, and no other."""
    data = json.loads(content)
    try:
        message.model_validate(data)
    except ValidationError as error:
        for problem in error.errors():
            assert problem["type"] == "extra_forbidden", problem
            *way, name = problem["loc"]
            place = data
            for step in way:
                place = place[step]
            del place[name]
    if "worker" in data:
        data["worker"].pop("version", None)
    return message.model_validate(data).model_dump_json().encode()


class Release:
    """Which release the site is of; every wire asks it at each request."""

    def __init__(self, site_is_new: bool) -> None:
        self.site_is_new = site_is_new


class Between(Wire):
    """What one worker and the site say to each other, each in the words of its release.

    With `held`, the worker's first result waits on its way until the test lets it go on; heartbeats pass. With
    `runs`, the worker is stopped when it has ended so many.
    """

    def __init__(self, app: TestClient, release: Release, *, worker_is_new: bool, held: bool = False) -> None:
        super().__init__(app)
        self.release, self.worker_is_new = release, worker_is_new
        self.arrived, self.go_on = threading.Event(), threading.Event()
        if not held:
            self.go_on.set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        name = request.url.path.rsplit("/", 1)[-1]
        if name == "results.parquet":
            self.arrived.set()
            assert self.go_on.wait(300)
        content = request.read()
        if request.method == "POST":
            if not self.worker_is_new:
                content = in_old_words(MESSAGES[name], content)
            if not self.release.site_is_new and (refused := refusal(name, content)):
                return refused
        headers = [pair for pair in request.headers.items() if pair[0] != "content-length"]
        answer = super().handle_request(
            httpx.Request(request.method, request.url, headers=headers, content=content)
        )
        if name != "claim" or answer.status_code != 200:
            return answer
        if self.worker_is_new and self.release.site_is_new:
            return answer
        if self.release.site_is_new:
            release_1.Assignment.model_validate_json(
                answer.content
            )  # an old worker refuses what it does not know
        return httpx.Response(200, content=old_words(answer.content))


class Busy:
    """The site in the middle of a phase, its people, and its workers of either release."""

    def __init__(self, stage: Stage, release: Release) -> None:
        self.stage, self.release = stage, release
        stage.site.set_version(query_order=QueryOrder.TEST_SEEDS, **SEEDS)
        self.sent: list[tuple[Person, str]] = []
        self.threads: list[threading.Thread] = []
        self.held: list[tuple[RealWorker, Job]] = []

    def submit(self, *names: str) -> None:
        for name in names:
            person = self.stage.site.member(name)
            answer = person.submit(make_zip({"model.py": COUNTING.encode()}))
            assert answer.status_code == 201, answer.text
            self.sent.append((person, answer.json()["id"]))

    def worker(self, name: str, *, new: bool, held: bool = False) -> tuple[RealWorker, Between]:
        wire = Between(self.stage.site.client, self.release, worker_is_new=new, held=held)
        return self.stage.worker(name, wire), wire

    def in_the_middle(self, name: str, *, new: bool) -> tuple[RealWorker, Between]:
        """A worker that has carried a run out, and whose result is on its way; it is stopped after this run."""
        worker, wire = self.worker(name, new=new, held=True)
        thread = threading.Thread(target=worker.work, name=name, daemon=True)
        self.threads.append(thread)
        thread.start()
        while not wire.arrived.wait(1):
            assert thread.is_alive(), f"{name} has no result"
        worker.site.draining.set()
        return worker, wire

    def holding(self, name: str, *, new: bool) -> tuple[RealWorker, Job]:
        """A worker that has just claimed a run."""
        worker, _ = self.worker(name, new=new)
        job = worker.client.claim(worker.desk._describe)
        assert job is not None
        self.held.append((worker, job))
        return worker, job

    def finish(self, *wires: Between) -> None:
        for wire in wires:
            wire.go_on.set()
        for thread in self.threads:
            thread.join(300)
            assert not thread.is_alive()

    def lose(self, job: Job) -> None:
        """The machine of the worker that holds this run is gone: its lease runs out; the others beat."""
        for worker, other in self.held:
            if other.run_id != job.run_id:
                worker.client.heartbeat(other.run_id, other.epoch, Progress(stage=RunStage.PREPARING))
        with self.stage.site.services.database.writing() as session:
            past = now() - timedelta(minutes=10)
            session.execute(update(Run).where(Run.id == job.run_id).values(lease_expires_at=past))
        sweep(self.stage.site.services)

    def states(self) -> list[RunState]:
        with self.stage.site.services.database.reading() as session:
            return list(session.scalars(select(Run.state).order_by(Run.id)))


def late_word(worker: RealWorker, job: Job) -> None:
    """A worker that was thought lost hands its result in, after another one had taken over."""
    wrong = RunSummary.from_dict(summary(0.123, 6))
    with pytest.raises(StaleEpoch):
        worker.client.complete(job.run_id, Complete(epoch=job.epoch, summary=wrong, artifacts=[]))


def right_score(busy: Busy) -> float:
    """What a site whose parts are all of this release makes of the same code."""
    busy.submit("zoe")
    assert busy.release.site_is_new
    busy.worker("after", new=True)[0].work()
    return busy.stage.shown(*busy.sent.pop())["score"]


def everybody_has_one_right_score(busy: Busy) -> None:
    people = [person.username for person, _ in busy.sent]
    shown = [busy.stage.shown(*one) for one in busy.sent]
    right = right_score(busy)
    assert right != 0.0
    assert [(one["status"], one["score"]) for one in shown] == [("finished", right)] * len(people)
    assert [quota(person) for person, _ in busy.sent] == [1] * len(people)
    board = [row["team"] for row in busy.stage.site.board()["rows"]]
    assert sorted(board) == sorted([*people, "zoe"])
    assert set(busy.states()) == {RunState.FINISHED}
    with busy.stage.site.services.database.reading() as session:
        counted = [
            session.scalar(select(func.count()).select_from(row)) for row in (RunScore, SubmissionScore)
        ]
    assert counted == [2 * len(board), len(board)]


@pytest.mark.slow("eight real runs, some held while others go on")
def test_site_first_then_its_workers_one_by_one(stage: Stage) -> None:
    busy = Busy(stage, Release(site_is_new=False))
    busy.submit("alice", "bob")
    _, one = busy.in_the_middle("one", new=False)
    two, lost = busy.holding("two", new=False)
    three, kept = busy.holding("three", new=False)
    assert busy.states().count(RunState.QUEUED) == 1

    busy.release.site_is_new = True
    busy.submit("dora")
    busy.finish(one)  # an old worker hands in at the new site what it got from the old one
    busy.lose(lost)
    _, one_again = busy.in_the_middle("one", new=True)
    late_word(two, lost)
    three.client.release(kept.run_id, kept.epoch)  # stopped in order, in its own words
    _, four = busy.in_the_middle("four", new=False)  # not upgraded yet, beside one that is
    busy.finish(four, one_again)
    for name in ("two", "three", "four"):
        busy.worker(name, new=True)[0].work()
    everybody_has_one_right_score(busy)


@pytest.mark.slow("eight real runs, some held while others go on")
def test_workers_one_by_one_then_their_site(stage: Stage) -> None:
    busy = Busy(stage, Release(site_is_new=False))
    busy.submit("alice", "bob")
    _, one = busy.in_the_middle("one", new=False)
    two, lost = busy.holding("two", new=False)
    three, kept = busy.holding("three", new=False)
    busy.finish(one)

    _, one_again = busy.in_the_middle("one", new=True)  # a new worker at the old site
    busy.finish(one_again)
    busy.lose(lost)
    _, two_again = busy.in_the_middle("two", new=True)
    late_word(two, lost)
    busy.submit("dora")
    busy.release.site_is_new = True  # while a new worker holds what the old site gave it, and an old one, too
    busy.finish(two_again)
    three.client.release(kept.run_id, kept.epoch)
    busy.worker("three", new=True)[0].work()
    everybody_has_one_right_score(busy)
