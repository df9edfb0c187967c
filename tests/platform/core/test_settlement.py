"""What the end of a run means for its submission: status, siblings, score, as its team sees them."""

from typing import Any

import pytest

from tests.platform.site import PaperWorker, Person, Site


@pytest.fixture
def alice(site: Site) -> Person:
    return site.member("alice")


@pytest.fixture
def worker(site: Site) -> PaperWorker:
    return site.worker()


def seen(person: Person, submission_id: str) -> dict[str, Any]:
    return person.call("GET", f"/api/v1/submissions/{submission_id}").json()


def claim(worker: PaperWorker) -> dict[str, Any]:
    job = worker.claim()
    assert job is not None
    return job


def act(site: Site, name: str, submission_id: str) -> None:
    path = "/api/v1/competitions/small/manage/submissions/acts"
    answer = site.owner().call("POST", path, json={"act": name, "ids": [submission_id], "reason": "a test"})
    assert answer.status_code == 200 and answer.json()["done"] == [submission_id], answer.text


def scored(alice: Person, worker: PaperWorker, mean: float) -> str:
    submission_id = alice.submit().json()["id"]
    worker.complete(claim(worker), mean)
    assert seen(alice, submission_id)["score"] == mean
    return submission_id


def test_a_failed_run_stops_what_else_goes_on_for_its_submission(
    site: Site, alice: Person, worker: PaperWorker
) -> None:
    site.set_version(train_seeds=[1, 2, 3], test_seeds=[4, 5, 6])
    submission_id = alice.submit().json()["id"]
    other = site.worker("another")
    failing, running = claim(worker), claim(other)
    worker.fail(failing, "RUNTIME_ERROR", "ValueError in fit")
    assert worker.claim() is None, "the third run has not been started"
    assert other.beat(running).json()["cancel"] is True
    assert seen(alice, submission_id)["status"] == "running"
    other.fail(running, "CANCELLED")
    shown = seen(alice, submission_id)
    assert (shown["status"], shown["verdict"], shown["cause"]) == ("failed", "RUNTIME_ERROR", "participant")
    assert [run["state"] for run in shown["runs"]].count("cancelled") == 2


def test_a_consequence_is_not_shown_as_the_reason(site: Site, alice: Person, worker: PaperWorker) -> None:
    """The runs that were stopped ended first: what their owner has to know is why."""
    site.set_version(train_seeds=[1, 2], test_seeds=[4, 5])
    submission_id = alice.submit().json()["id"]
    job = claim(worker)
    worker.fail(job, "TIME_LIMIT", "out of time")
    shown = seen(alice, submission_id)
    assert (shown["verdict"], shown["cause"], shown["counts_quota"]) == ("TIME_LIMIT", "participant", True)


def test_there_is_no_score_before_the_last_run(site: Site, alice: Person, worker: PaperWorker) -> None:
    site.set_version(train_seeds=[1, 2], test_seeds=[4, 5])
    submission_id = alice.submit().json()["id"]
    worker.complete(claim(worker), 0.4)
    shown = seen(alice, submission_id)
    assert (shown["status"], shown["score"], site.board()["rows"]) == ("running", None, [])
    worker.complete(claim(worker), 0.6)
    assert seen(alice, submission_id)["score"] == site.board()["rows"][0]["score"] == 0.4


@pytest.mark.parametrize(
    ("verdict", "tries", "status", "score"),
    [("DOCKER_ERROR", 3, "finished", 0.7), ("RUNTIME_ERROR", 1, "failed", None)],
    ids=["ours", "the participant's"],
)
def test_a_rerun_that_fails_takes_the_score_only_from_who_answers_for_it(
    site: Site,
    alice: Person,
    worker: PaperWorker,
    verdict: str,
    tries: int,
    status: str,
    score: float | None,
) -> None:
    submission_id = scored(alice, worker, 0.7)
    act(site, "rerun", submission_id)
    assert seen(alice, submission_id)["status"] == "queued"
    for _ in range(tries):
        worker.fail(claim(worker), verdict)
    shown = seen(alice, submission_id)
    assert (shown["status"], shown["score"]) == (status, score)
    assert [row["score"] for row in site.board()["rows"]] == ([score] if score else [])


def test_a_rerun_replaces_the_score(site: Site, alice: Person, worker: PaperWorker) -> None:
    submission_id = scored(alice, worker, 0.7)
    act(site, "rerun", submission_id)
    worker.complete(claim(worker), 0.2)
    assert seen(alice, submission_id)["score"] == site.board()["rows"][0]["score"] == 0.2
