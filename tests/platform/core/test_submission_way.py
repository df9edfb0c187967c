"""A submission's way: upload, queue, claim, result, row on the leaderboard."""

import pytest
from sqlalchemy import func, select

from anyshot_platform.judging.runs.models import Attempt
from anyshot_platform.judging.scores.models import RunScore, SubmissionScore
from anyshot_platform.judging.submissions.models import Submission
from tests.contract.recording import play, recorded
from tests.platform.site import MODEL, Site, make_zip


def test_an_upload_becomes_a_row_on_the_board(site: Site) -> None:
    alice, worker = site.member("alice"), site.worker()
    submitted = alice.submit(comment="first try")
    assert submitted.status_code == 201, submitted.text
    shown = submitted.json()
    assert (shown["status"], shown["queue_place"], shown["number"]) == ("queued", 0, 1)
    job = worker.claim()
    assert job is not None and job["submission_id"] == shown["id"]
    assert (job["epoch"], job["attempt"], job["tasks"]) == (1, 1, 10)
    zipped = site.client.get(job["submission"]["url"])
    assert zipped.content == make_zip(salt="alice")
    assert worker.beat(job, "meta_training", tasks_done=0, tasks_total=10).json()["cancel"] is False
    told = {"tasks_done": 4, "tasks_total": 10, "seconds_used": 2.5, "message": "Testing"}
    assert worker.beat(job, "meta_testing", **told).status_code == 200
    running = alice.call("GET", f"/api/v1/submissions/{shown['id']}").json()
    assert (running["status"], running["runs"][0]["state"], running["runs"][0]["tasks_done"]) == (
        "running",
        "meta_testing",
        4,
    )
    assert running["runs"][0]["message"] == "Testing"
    results = worker.put(job, "results.parquet", b"rows")
    assert results.status_code == 204, results.text
    log = worker.put(job, "log.txt", b"hello")
    assert log.status_code == 204
    artifacts = [
        {
            "name": "log.txt",
            "digest": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
            "size": 5,
        }
    ]
    done = worker.complete(job, 0.75, artifacts=artifacts, usage={"participant_seconds": 12.5})
    assert done.status_code == 204, done.text
    finished = alice.call("GET", f"/api/v1/submissions/{shown['id']}").json()
    assert (finished["status"], finished["verdict"], finished["score"]) == ("finished", "OK", 0.75)
    assert finished["runs"][0]["artifacts"] == ["log.txt"]
    assert finished["runs"][0]["message"] == ""  # nothing is being done any more
    file = alice.call("GET", f"/api/v1/submissions/{shown['id']}/runs/{job['run_id']}/artifacts/log.txt")
    assert file.content == b"hello"
    board = site.board()
    assert [(row["rank"], row["team"], row["score"]) for row in board["rows"]] == [(1, "alice", 0.75)]
    assert board["rows"][0]["by_dataset"] == {"Hidden 1": 0.75}
    assert site.board("scratch")["rows"] == []


def test_weights_stay_out_of_reach_of_who_declares_to_use_none(site: Site) -> None:
    worker = site.worker()
    site.member("alice").submit()
    site.member("bob").submit(leagues=["scratch"])
    jobs = [worker.claim(), worker.claim()]
    assert {job["weights"] for job in jobs if job} == {True, False}
    scratch = next(job for job in jobs if job and not job["weights"])
    assert site.client.get(scratch["submission"]["url"]).content == make_zip(salt="bob")


def test_completing_twice_is_harmless(site: Site) -> None:
    alice, worker = site.member("alice"), site.worker()
    alice.submit()
    job = worker.claim()
    assert job is not None
    assert [worker.complete(job, 0.5).status_code for _ in range(3)] == [204, 204, 204]
    with site.services.database.reading() as session:
        assert session.scalar(select(func.count()).select_from(RunScore)) == 1
        assert session.scalar(select(func.count()).select_from(SubmissionScore)) == 1
    assert worker.fail(job, "RUNTIME_ERROR").status_code == 204  # the first final word stands
    assert site.board()["rows"][0]["score"] == 0.5


@pytest.mark.parametrize(
    ("mean", "tasks", "words"),
    [(0.9, 9, "over 9 tasks"), (5.0, 10, "The score is 5.0"), (-1.01, 10, "-1.01")],
)
def test_a_result_that_cannot_be_true_is_our_failure_and_tried_again(
    site: Site, mean: float, tasks: int, words: str
) -> None:
    alice, admin = site.member("alice"), site.person("adam", is_site_admin=True)
    shown = alice.submit().json()
    worker = site.worker()
    for _ in range(3):
        job = worker.claim()
        assert job is not None and site.board()["rows"] == []
        assert worker.complete({**job, "tasks": tasks}, mean).status_code == 204
    assert worker.claim() is None and site.board()["rows"] == []
    failed = alice.call("GET", f"/api/v1/submissions/{shown['id']}").json()
    assert (failed["status"], failed["cause"], failed["counts_quota"]) == ("failed", "infrastructure", False)
    assert words in site.client.get("/admin", headers=admin.headers).text


def test_an_artifact_that_was_not_uploaded_is_refused(site: Site) -> None:
    site.member("alice").submit()
    worker = site.worker()
    job = worker.claim()
    assert job is not None
    named = [{"name": "log.txt", "digest": "0" * 64, "size": 1}]
    assert worker.complete(job, 0.9, artifacts=named).json()["error"] == "unknown_artifact"
    assert worker.put(job, "../etc/passwd", b"x").status_code in (404, 405, 422)
    for name in ("other.bin", "page.html", "result.json"):  # the last two are a report's
        assert worker.put(job, name, b"x").json()["error"] == "unknown_artifact"


def test_the_score_of_seeded_runs_is_the_worst(site: Site) -> None:
    site.set_version(train_seeds=[1, 2, 3], test_seeds=[4, 5, 6])
    shown = site.member("alice").submit().json()
    worker = site.worker()
    jobs = [worker.claim() for _ in range(3)]
    assert {(job["train_seed"], job["test_seed"]) for job in jobs if job} == {(1, 4), (2, 5), (3, 6)}
    for job, mean in zip(jobs, (0.6, 0.4, 0.5), strict=True):
        assert job is not None
        assert site.board()["rows"] == []
        worker.complete(job, mean)
    assert site.board()["rows"][0]["score"] == 0.4
    assert site.submission(shown["id"]).score == 0.4


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (make_zip({"readme.txt": b"hello"}), "model.py"),
        (make_zip({"model.py": b"def broken(:\n"}), "line 1"),
        (make_zip({"model.py": b"class MyMetaLearner: pass\n"}), "MyLearner"),
        (make_zip({"model.py": MODEL, "config.json": b'{"batch_size": 0}'}), "batch_size"),
        (make_zip({"../model.py": MODEL}), "leads out of the zip"),
        (b"this is text", "zip"),
    ],
)
def test_a_bad_zip_is_refused_with_a_reason_and_costs_nothing(site: Site, content: bytes, words: str) -> None:
    alice = site.member("alice")
    refused = alice.submit(content)
    assert (refused.status_code, refused.json()["error"]) == (422, "bad_archive")
    assert words in refused.json()["message"]
    assert any(check["outcome"] == "failed" for check in refused.json()["checks"])
    quota = alice.call("GET", "/api/v1/competitions/small/phases/feedback/quota").json()
    assert quota["day"]["used"] == 0
    with site.services.database.reading() as session:
        assert session.scalar(select(func.count(Submission.id))) == 0


def test_failures_say_whose_they_are_and_what_they_cost(site: Site) -> None:
    alice, worker = site.member("alice"), site.worker()
    shown = alice.submit().json()
    job = worker.claim()
    assert job is not None
    worker.fail(
        job, "RUNTIME_ERROR", "ValueError in fit", detail="Traceback ...", task_index=3, ways=5, shots=2
    )
    failed = alice.call("GET", f"/api/v1/submissions/{shown['id']}").json()
    assert (failed["status"], failed["verdict"], failed["cause"]) == (
        "failed",
        "RUNTIME_ERROR",
        "participant",
    )
    run = failed["runs"][0]
    assert (run["message"], run["task_index"], run["task_ways"], run["task_shots"]) == (
        "ValueError in fit",
        3,
        5,
        2,
    )
    assert failed["counts_quota"] is True
    again = alice.submit().json()
    for _ in range(3):
        job = worker.claim()
        assert job is not None
        worker.fail(job, "DOCKER_ERROR", "the daemon went away")
    assert worker.claim() is None
    ours = alice.call("GET", f"/api/v1/submissions/{again['id']}").json()
    assert (ours["status"], ours["cause"], ours["counts_quota"]) == ("failed", "infrastructure", False)
    with site.services.database.reading() as session:
        attempts = session.scalars(
            select(Attempt.outcome).where(Attempt.run_id == ours["runs"][0]["id"])
        ).all()
    assert list(attempts) == ["DOCKER_ERROR"] * 3


def test_words_of_a_submission_that_no_database_holds_do_not_cost_the_verdict(site: Site) -> None:
    """What the code raised and what files of the zip are called; PostgreSQL refuses NUL."""
    alice, worker = site.member("alice"), site.worker()
    shown = alice.submit().json()
    job = worker.claim()
    assert job is not None
    told = worker.fail(
        job, "RUNTIME_ERROR", "ValueError: \x00 in fit", detail="Traceback\x00", private="\x00"
    )
    assert told.status_code == 204, told.text
    failed = alice.call("GET", f"/api/v1/submissions/{shown['id']}").json()
    assert (failed["verdict"], failed["runs"][0]["message"]) == ("RUNTIME_ERROR", "ValueError: \ufffd in fit")
    alice.submit()
    job = worker.claim()
    assert job is not None
    evidence = recorded("evidence-clean")
    evidence["files"][0]["path"] = "mean\x00.npy"
    assert worker.complete(job, 0.5, evidence=evidence).status_code == 204
    assert [row["score"] for row in site.board()["rows"]] == [0.5]


def test_an_unclear_death_is_tried_once_more_then_the_participants(site: Site) -> None:
    alice, worker = site.member("alice"), site.worker()
    shown = alice.submit().json()
    for _ in range(2):
        job = worker.claim()
        assert job is not None
        worker.fail(job, "KILLED", "died by signal 9")
    assert worker.claim() is None
    failed = alice.call("GET", f"/api/v1/submissions/{shown['id']}").json()
    assert (failed["verdict"], failed["cause"], failed["counts_quota"]) == (
        "RUNTIME_ERROR",
        "participant",
        True,
    )


def test_a_smoke_test_costs_no_quota_and_stays_off_the_board(site: Site) -> None:
    site.offer_smoke_tests()
    alice, worker = site.member("alice"), site.worker()
    shown = alice.submit(smoke=True).json()
    job = worker.claim()
    assert job is not None and (job["kind"], job["tasks"], job["budget"]["run_seconds"]) == (
        "smoke",
        5,
        120.0,
    )
    assert worker.complete(job, 0.3).status_code == 204
    assert alice.call("GET", f"/api/v1/submissions/{shown['id']}").json()["status"] == "finished"
    assert site.board()["rows"] == []
    quota = alice.call("GET", "/api/v1/competitions/small/phases/feedback/quota").json()
    assert (quota["day"]["used"], quota["smoke_day"]["used"]) == (0, 1)


def test_the_meta_learning_league_looks_at_the_evidence(site: Site) -> None:
    worker = site.worker()
    found = {
        "alice": recorded("evidence-clean"),
        "bob": recorded("evidence-known"),
        "eve": recorded("evidence-unended"),
        "zoe": None,
    }
    for name, evidence in found.items():
        assert site.member(name).submit(leagues=["scratch", "free"]).status_code == 201
        job = worker.claim()
        assert job is not None
        worker.complete(job, 0.5, evidence=evidence)
    assert [row["team"] for row in site.board("scratch")["rows"]] == ["alice"]
    assert {row["team"] for row in site.board("free")["rows"]} == set(found)
    text = site.owner().call("GET", "/competitions/small/manage/leagues").text
    rows = {
        name: " ".join(
            text.partition(f'aria-label="{name} in From scratch"')[2].partition("</tr>")[0].split()
        )
        for name in found
    }
    assert "The inspection of the zip found nothing suspicious." in rows["alice"]
    assert "net.npy is torchvision resnet18 (ImageNet)." in rows["bob"], rows["bob"]
    assert "1 file looked at" in rows["bob"] and "net.npy: numpy, 328 B, 50 numbers" in rows["bob"]
    assert "The inspection did not end" in rows["eve"] and "the worker sent no report of it" in rows["zoe"]


def test_what_one_of_several_runs_finds_holds_and_an_organizers_decision_too(site: Site) -> None:
    site.set_version(train_seeds=[1, 2, 3], test_seeds=[4, 5, 6])
    alice, worker = site.member("alice"), site.worker()
    shown = alice.submit(leagues=["scratch"]).json()
    clean, unended = recorded("evidence-clean"), play("evidence-unended", problem="no memory")
    found = [clean, unended, clean]
    for evidence in found:
        job = worker.claim()
        assert job is not None
        worker.complete(job, 0.5, evidence=evidence)
    assert site.board("scratch")["rows"] == []
    decision = {"entries": [{"submission": shown["id"], "league": "scratch"}], "admit": True}
    path = "/api/v1/competitions/small/manage/leagues/entries"
    assert site.owner().call("POST", f"{path}/decide", json=decision).status_code == 200
    assert [row["team"] for row in site.board("scratch")["rows"]] == ["alice"]
    (entry,) = site.owner().call("GET", path).json()
    assert entry["suspicious"] == ["The inspection did not end: no memory."], "the evidence stays to be read"
