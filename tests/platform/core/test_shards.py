"""One run's meta-test split over several workers."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from anyshot_core.results import write_predictions, write_results
from anyshot_platform.actions.many import ManyDone
from anyshot_platform.judging.submissions.actions import bulk
from anyshot_platform.judging.submissions.models import Submission
from anyshot_scoring.predictions import Predictions
from anyshot_scoring.summary import summarize
from anyshot_scoring.table import TaskTable
from tests.platform.site import SLUG, PaperWorker, Site


def make_predictions(tasks: Iterable[int], dataset: str | None = None) -> Predictions:
    """Answers that depend on the task alone: 25 queries of five classes, some of them wrong."""
    chosen = list(tasks)
    labels = np.repeat(np.arange(5), 5)
    answers = [np.where(np.arange(25) < 7 * task % 23, (labels + 1) % 5, labels) for task in chosen]
    names = [dataset or f"d{task % 2}" for task in chosen]
    return Predictions.from_tasks(
        task=chosen,
        dataset=names,
        domain=names,
        ways=[5] * len(chosen),
        shots=[5] * len(chosen),
        predictions=answers,
        labels=[labels] * len(chosen),
    )


def make_table(start: int, stop: int) -> TaskTable:
    """The scores of these answers."""
    return make_predictions(range(start, stop)).score()


def store(path: Path, predictions: Predictions) -> bytes:
    """The file of these answers."""
    write_predictions(path, predictions, {})
    return path.read_bytes()


def hand_in(worker: PaperWorker, job: dict[str, Any], folder: Path, *, seconds: float = 60.0) -> None:
    start, stop = job["shard"] or (0, job["tasks"])
    table = make_table(start, stop)
    path = folder / "results.parquet"
    write_results(path, table, {"tasks": stop - start})
    content = path.read_bytes()
    artifacts = []
    predictions = store(folder / "predictions.parquet", make_predictions(range(start, stop)))
    kept = {"results.parquet": content, "learner.bin": b"a learner", "predictions.parquet": predictions}
    for name, body in kept.items():
        assert worker.put(job, name, body).status_code == 204
        artifacts.append({"name": name, "digest": hashlib.sha256(body).hexdigest(), "size": len(body)})
    summary = summarize(table, range(start, stop)).to_dict()
    done = worker.complete(
        job, 0.0, summary=summary, artifacts=artifacts, usage={"participant_seconds": seconds}
    )
    assert done.status_code == 204, done.text


def test_shards_give_the_result_of_one_worker(site: Site, tmp_path: Path) -> None:
    site.set_version(shards=3)
    shown = site.member("alice").submit().json()
    worker = site.worker()
    first = worker.claim()
    assert first is not None and (first["kind"], first["shard"], first["keep_learner"]) == (
        "evaluate",
        [0, 3],
        True,
    )
    assert worker.claim() is None  # the others wait for the first one's learner
    hand_in(worker, first, tmp_path)
    others = [worker.claim(), worker.claim()]
    assert [(job["kind"], job["shard"]) for job in others if job] == [
        ("meta_test", [3, 6]),
        ("meta_test", [6, 10]),
    ]
    for job in others:
        assert job is not None
        assert site.client.get(job["learner"]["url"]).content == b"a learner"
        left = 600.0 - 60.0
        share = (job["shard"][1] - job["shard"][0]) / 7
        assert abs(job["budget"]["run_seconds"] - left * share) < 1e-6
        hand_in(worker, job, tmp_path)
    whole = summarize(make_table(0, 10), 10)
    submission = site.submission(shown["id"])
    assert (submission.status, submission.score) == ("finished", whole.mean)
    row = site.board()["rows"][0]
    assert (row["score"], row["half_width"], row["tasks"]) == (whole.mean, whole.half_width, 10)
    write_results(tmp_path / "single.parquet", make_table(0, 10), {"tasks": 10})
    owner = site.owner()
    path = f"/api/v1/submissions/{shown['id']}/runs/{first['run_id']}/artifacts/results.parquet"
    combined = owner.call("GET", path)
    assert combined.content == (tmp_path / "single.parquet").read_bytes()


def test_a_failed_first_shard_spares_the_others(site: Site) -> None:
    site.set_version(shards=3)
    alice = site.member("alice")
    shown = alice.submit().json()
    worker = site.worker()
    job = worker.claim()
    assert job is not None
    worker.fail(job, "RUNTIME_ERROR")
    assert worker.claim() is None
    found = alice.call("GET", f"/api/v1/submissions/{shown['id']}").json()
    assert (found["status"], found["verdict"]) == ("failed", "RUNTIME_ERROR")
    assert [run["state"] for run in found["runs"]] == ["failed", "cancelled", "cancelled"]


def test_shards_are_scored_again_each_from_its_predictions(site: Site, tmp_path: Path) -> None:
    site.set_version(shards=3)
    shown = site.member("alice").submit().json()
    worker = site.worker()
    for _ in range(3):
        job = worker.claim()
        assert job is not None
        hand_in(worker, job, tmp_path)
    seconds = site.board()["rows"][0]["seconds"]
    assert rescore(site, shown["id"]).done == (shown["id"],)
    again = [worker.claim() for _ in range(3)]
    assert sorted((job["kind"], job["shard"]) for job in again if job) == [
        ("score", [0, 3]),
        ("score", [3, 6]),
        ("score", [6, 10]),
    ]
    for job in again:
        assert job is not None
        answers = store(tmp_path / "answers.parquet", make_predictions(range(*job["shard"])))
        assert site.client.get(job["predictions"]["url"]).content == answers
        hand_in(worker, job, tmp_path, seconds=0.0)
    assert site.submission(shown["id"]).status == "finished"
    assert site.submission(shown["id"]).score == summarize(make_table(0, 10), 10).mean
    (row,) = site.board()["rows"]
    assert (row["tasks"], row["seconds"]) == (10, seconds) and seconds > 0  # what was used when it ran


def test_half_finished_shards_are_not_scored_again(site: Site, tmp_path: Path) -> None:
    site.set_version(shards=3)
    shown = site.member("alice").submit().json()
    worker = site.worker()
    job = worker.claim()
    assert job is not None
    hand_in(worker, job, tmp_path)
    assert rescore(site, shown["id"]).skipped == {
        shown["id"]: "It has a run of which not all shards are finished."
    }


def test_shards_whose_scoring_was_cancelled_are_scored_again(site: Site, tmp_path: Path) -> None:
    """The cancelled shard lay in the same set of runs as the new ones, which were never put together."""
    site.set_version(shards=2)
    shown = site.member("alice").submit().json()
    worker, owner = site.worker(), site.owner()
    for _ in range(2):
        job = worker.claim()
        assert job is not None
        hand_in(worker, job, tmp_path)
    assert rescore(site, shown["id"]).done == (shown["id"],)
    owner.call("POST", f"/api/v1/competitions/{SLUG}/manage/submissions/{shown['id']}/acts/cancel")
    assert rescore(site, shown["id"]).done == (shown["id"],)
    for _ in range(2):
        job = worker.claim()
        assert job is not None and job["kind"] == "score"
        hand_in(worker, job, tmp_path)
    runs = owner.call("GET", f"/api/v1/submissions/{shown['id']}").json()["runs"]
    scores = [run["score"] for run in runs if run["generation"] == runs[0]["generation"]]
    assert scores == [summarize(make_table(0, 10), 10).mean, None]  # the whole stands with its first part


def rescore(site: Site, submission_id: str) -> ManyDone:
    """What the organizers' page does for one submission."""
    with site.services.database.writing() as session:
        submission = session.get_one(Submission, submission_id)
        return bulk.act_on(session, [submission], bulk.SubmissionAct.RESCORE, submission.user_id)
