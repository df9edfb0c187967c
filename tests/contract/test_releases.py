"""A site and its workers, one release apart: nothing is lost, nothing is charged, and nobody stops working."""

import json
import logging
from datetime import timedelta
from typing import Any

import httpx
import pytest

from anyshot_platform.judging.execution import releases
from tests.contract.stage import Stage, Wire
from tests.platform.site import Person, Site


class NewWorker(Wire):
    """The site as a worker of a release to come meets it: its messages have one field more."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method != "POST":
            return super().handle_request(request)
        said = {**json.loads(request.read() or b"{}"), "of_a_later_release": {"a": 1}}
        headers = [pair for pair in request.headers.items() if pair[0] != "content-length"]
        return super().handle_request(
            httpx.Request("POST", request.url, headers=headers, content=json.dumps(said))
        )


class NewSite(Wire):
    """The site of a release to come: jobs have one field more; those with `kind` given are of that kind."""

    kind: str | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        if not request.url.path.endswith("/claim") or answer.status_code != 200:
            return answer
        job = {**json.loads(answer.content), "version": 99, "of_a_later_release": {"a": 1}}
        return httpx.Response(200, json=job | ({"kind": self.kind} if self.kind else {}))


def board(stage: Stage) -> list[str]:
    return [row["team"] for row in stage.site.board()["rows"]]


def quota(person: Person) -> int:
    answer = person.call("GET", "/api/v1/competitions/small/phases/feedback/quota").json()
    return answer["day"]["used"]


def test_what_a_later_worker_adds_does_not_hurt(stage: Stage) -> None:
    stage.site.member("alice").submit(stage.baseline("random"))
    stage.worker("ahead", NewWorker(stage.site.client)).work()
    assert board(stage) == ["alice"]


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
    worker.desk._describe = worker.desk._describe.model_copy(update={"version": 1, "release": "1.0.0"})
    worker.work()
    assert board(stage) == ["alice"] and words not in stage.page("/admin", admin)


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
