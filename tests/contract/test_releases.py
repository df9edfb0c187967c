"""A site and its workers, one release apart: nothing is lost, nothing is charged, and nobody stops working."""

from __future__ import annotations

import json
import logging
from datetime import timedelta
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from anyshot_platform.judging import releases
from anyshot_platform.phases.states import QueryOrder
from tests.contract import release_1
from tests.contract.stage import Stage, Wire
from tests.platform.site import PaperWorker, Person, Site, make_zip, summary
from tests.worker.test_query_order import COUNTING

JSON = {"content-type": "application/json"}
MESSAGES = {
    "claim": release_1.ClaimRequest,
    "heartbeat": release_1.Heartbeat,
    "events": release_1.Events,
    "complete": release_1.Complete,
    "fail": release_1.Fail,
    "release": release_1.Release,
}


def refusal(name: str, content: bytes) -> httpx.Response | None:
    """What the last release's site answers to a message with more than it knows."""
    try:
        MESSAGES[name].model_validate_json(content)
    except ValidationError as error:
        return httpx.Response(422, text=str(error))
    return None


class OldSite(Wire):
    """The site as a worker of today meets the last release's: it refuses unknown fields, and sends all of its own."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        name = request.url.path.rsplit("/", 1)[-1]
        if request.method == "POST" and (refused := refusal(name, request.read())):
            return refused
        answer = super().handle_request(request)
        if name == "claim" and answer.status_code == 200:
            sent = release_1.Assignment.model_validate_json(old_words(answer.content))
            return httpx.Response(200, content=sent.model_dump_json())
        return answer


def old_words(content: bytes) -> bytes:
    known = release_1.Assignment.model_fields
    told = {name: value for name, value in json.loads(content).items() if name in known}
    return json.dumps(told | {"version": 1}).encode()


class NewSite(Wire):
    """The site of a release to come: jobs have one field more; those with `kind` given are of that kind."""

    kind: str | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        if not request.url.path.endswith("/claim") or answer.status_code != 200:
            return answer
        job = {**json.loads(answer.content), "version": 99, "of_a_later_release": {"a": 1}}
        return httpx.Response(200, json=job | ({"kind": self.kind} if self.kind else {}))


class OldWorker(PaperWorker):
    """A worker of the last release: it says and reads what that release did, and nothing else."""

    def take(self) -> release_1.Assignment | None:
        info = release_1.WorkerInfo(name=self.name, release="0.0.9", images=["cpu"])
        message = release_1.ClaimRequest(worker=info)
        answer = self.call("POST", "/claim", content=message.model_dump_json(), headers=JSON)
        assert answer.status_code in (200, 204), answer.text
        return release_1.Assignment.model_validate_json(answer.content) if answer.content else None

    def finish(self, job: release_1.Assignment, mean: float) -> None:
        start, stop = job.shard or (0, job.tasks)
        evidence = {"files": [], "code": [], "parameters": 0, "known": [], "complete": True, "problem": ""}
        done = release_1.Complete(
            epoch=job.epoch, summary=summary(mean, stop - start), artifacts=[], evidence=evidence
        )
        answer = self.call(
            "POST", f"/runs/{job.run_id}/complete", content=done.model_dump_json(), headers=JSON
        )
        assert answer.status_code == 204, answer.text


def old_worker(site: Site, name: str = "old") -> OldWorker:
    paper = site.worker(name)
    return OldWorker(paper.client, paper.token, name)


def board(stage: Stage) -> list[str]:
    return [row["team"] for row in stage.site.board()["rows"]]


def quota(person: Person) -> int:
    answer = person.call("GET", "/api/v1/competitions/small/phases/feedback/quota").json()
    return answer["day"]["used"]


def test_a_site_that_was_upgraded_first_goes_on_with_the_workers_that_it_has(site: Site) -> None:
    worker = old_worker(site)
    site.set_version(query_order=QueryOrder.TEST_SEEDS)
    site.member("alice").submit(leagues=["scratch"])
    site.member("bob").submit()
    kinds = []
    while (job := worker.take()) is not None:
        kinds.append(job.kind)
        worker.finish(job, 0.5)
    assert sorted(kinds) == ["evaluate", "evaluate"]
    assert [row["team"] for row in site.board("scratch")["rows"]] == ["alice"]


@pytest.mark.seconds("workers and sites of two releases")
def test_a_worker_that_was_upgraded_first_works_for_the_site_that_is_there(stage: Stage) -> None:
    """It shows queries in the order that workers of the last release show them in."""
    stage.site.set_version(query_order=QueryOrder.TEST_SEEDS)
    for name, wire in (("alice", OldSite(stage.site.client)), ("bob", Wire(stage.site.client))):
        stage.site.member(name).submit(make_zip({"model.py": COUNTING.encode()}))
        stage.worker(f"worker-of-{name}", wire).work()
    one, two = stage.site.board()["rows"]
    assert {one["team"], two["team"]} == {"alice", "bob"} and one["score"] == two["score"] != 0.0


SECRET = {
    "the tasks": {"test_seeds": []},
    "the order of the query": {},
}


@pytest.mark.seconds("an older worker for each key")
@pytest.mark.parametrize("what", SECRET)
def test_a_worker_of_the_last_release_is_not_given_keys_that_it_does_not_know(
    stage: Stage, what: str
) -> None:
    """It would draw other tasks, or show them in another order, and its scores could not be compared."""
    stage.site.set_version(**SECRET[what])
    alice = stage.site.member("alice")
    shown = alice.submit(stage.baseline("random")).json()["id"]
    assert old_worker(stage.site).take() is None
    admin = stage.site.person("adam", is_site_admin=True)
    assert "Worker old cannot read run" in stage.page("/admin", admin)
    stage.worker("upgraded").work()
    assert (stage.shown(alice, shown)["status"], board(stage), quota(alice)) == ("finished", ["alice"], 1)


def test_what_a_later_site_adds_does_not_hurt(stage: Stage) -> None:
    stage.site.member("alice").submit(stage.baseline("random"))
    stage.worker("today", NewSite(stage.site.client)).work()
    assert board(stage) == ["alice"]


def test_a_job_that_cannot_be_read_goes_to_another_worker_and_costs_nothing(stage: Stage) -> None:
    alice = stage.site.member("alice")
    shown = alice.submit(stage.baseline("random")).json()
    wire = NewSite(stage.site.client, stage.recorder)
    wire.kind = "of_a_later_release"
    behind = stage.worker("behind", wire)
    behind.work()
    queued = stage.shown(alice, shown["id"])
    assert (queued["status"], queued["runs"][0]["attempt"]) == ("queued", 1)
    behind.work()
    assert stage.shown(alice, shown["id"])["runs"][0]["attempt"] == 1, "it is not given the same run again"
    admin = stage.site.person("adam", is_site_admin=True)
    assert "Worker behind cannot read run" in stage.page("/admin", admin)
    stage.worker("ahead").work()
    done = stage.shown(alice, shown["id"])
    assert (done["status"], board(stage), quota(alice)) == ("finished", ["alice"], 1)


def test_a_job_that_nobody_can_read_is_given_up_as_our_failure(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases, "PATIENCE", timedelta(0))
    alice = site.member("alice")
    shown = alice.submit().json()
    for number in range(2):
        worker = site.worker(f"behind-{number}")
        job = worker.claim()
        assert job is not None
        assert worker.release(job, unreadable="kind").status_code == 204
    assert site.worker("other").claim() is None
    failed = alice.call("GET", f"/api/v1/submissions/{shown['id']}").json()
    assert (failed["status"], failed["cause"], failed["counts_quota"]) == ("failed", "infrastructure", False)
    assert quota(alice) == 0


def test_a_worker_that_is_too_old_is_told_so_and_claims_nothing(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    alice = stage.site.member("alice")
    shown = alice.submit(stage.baseline("random")).json()
    worker = stage.worker("grandfather")
    worker.desk._describe = worker.desk._describe.model_copy(update={"version": 0, "release": "0.0.1"})
    with caplog.at_level(logging.ERROR):
        worker.work()
    words = "Worker grandfather (0.0.1, API version 0) is too old for this site"
    assert words in caplog.text and "upgrade it" in caplog.text
    assert stage.shown(alice, shown["id"])["runs"][0]["attempt"] == 0
    admin = stage.site.person("adam", is_site_admin=True)
    assert words in stage.page("/admin", admin)
    worker.desk._describe = worker.desk._describe.model_copy(update={"version": 2, "release": "1.0.0"})
    worker.work()
    assert board(stage) == ["alice"] and words not in stage.page("/admin", admin)


@pytest.mark.seconds("workers and sites of two releases")
def test_a_busy_site_is_upgraded_under_way(stage: Stage) -> None:
    """Old workers hold runs while the site and then they themselves are upgraded, one by one."""
    stage.site.set_version(query_order=QueryOrder.TEST_SEEDS)
    people = [stage.site.member(name) for name in ("alice", "bob", "carol")]
    shown = [person.submit(stage.baseline("random")).json()["id"] for person in people]
    first, second = (old_worker(stage.site, name) for name in ("one", "two"))
    held = [job for job in (first.take(), second.take()) if job is not None]
    assert len(held) == 2
    first.finish(held[0], 0.4)  # ends what it had, then is stopped
    second.call(
        "POST",
        f"/runs/{held[1].run_id}/release",
        content=release_1.Release(epoch=held[1].epoch).model_dump_json(),
        headers=JSON,
    )
    stage.worker("one-upgraded").work()
    states: list[Any] = [stage.shown(*pair)["status"] for pair in zip(people, shown, strict=True)]
    assert states == ["finished"] * 3 and sorted(board(stage)) == ["alice", "bob", "carol"]
    assert [quota(person) for person in people] == [1, 1, 1]


@pytest.mark.parametrize("error", [ValueError("a bug"), OSError("no space")])
def test_the_poller_goes_on_after_any_error(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    stage.site.member("alice").submit(stage.baseline("random"))
    worker = stage.worker()
    claim, asked = worker.client.claim, []

    def stumble(*arguments: Any) -> Any:
        asked.append(1)
        if len(asked) == 1:
            raise error
        worker.site.draining.set() if len(asked) > 2 else None
        return claim(*arguments)

    monkeypatch.setattr(worker.client, "claim", stumble)
    worker.desk._poll_seconds = 0.01
    worker.desk.open()
    worker.desk._poller.join(120)
    assert board(stage) == ["alice"]
