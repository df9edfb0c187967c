"""Runs that end at the same moment, or while a site is upgraded: their submission has its score all the same."""

from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import select

from anyshot_core.wire.worker_api import Complete
from anyshot_platform.judging.execution import leases, results, settlement
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.workers.models import Worker
from anyshot_platform.people.notifications.models import Notification
from anyshot_platform.server.sweeper import keep_house
from tests.platform.core.test_shards import hand_in
from tests.platform.site import Site, summary


def test_two_runs_that_end_at_once_make_the_score(postgres_site: Site) -> None:
    site = postgres_site
    site.set_version(train_seeds=[1, 2], test_seeds=[3, 4])
    shown, worker = site.member("alice").submit().json(), site.worker()
    first, second = worker.claim(), worker.claim()
    assert first is not None and second is not None
    body = Complete.model_validate({"epoch": 1, "summary": summary(0.4, 10), "artifacts": []})
    with ThreadPoolExecutor(1) as other:
        with site.services.database.writing() as session:
            worker_id = session.get_one(Run, first["run_id"]).worker_id
            token_id = session.get_one(Worker, worker_id).token_id
            run = leases.find_held(session, token_id, first["run_id"], 1)
            results.complete(site.services, session, run, body)
            late = other.submit(worker.complete, second, 0.6)  # before the first is committed
            with pytest.raises(TimeoutError):
                late.result(timeout=1.0)  # it waits for the first, to see it
        assert late.result(timeout=30.0).status_code == 204
    found = site.submission(shown["id"])
    assert (found.status, found.score) == ("finished", pytest.approx(0.4))  # the worst run counts


def test_parts_that_had_ended_when_a_release_took_over_get_their_score(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.set_version(shards=2)
    shown, worker = site.member("alice").submit().json(), site.worker()
    with monkeypatch.context() as older:  # which left the parts to the sweeper, and was stopped before that
        older.setattr(settlement, "unscored_parts", lambda *_: [])
        for _ in range(2):
            job = worker.claim()
            assert job is not None
            hand_in(worker, job, tmp_path)
        assert site.submission(shown["id"]).score is None
    keep_house(site.services)
    found = site.submission(shown["id"])
    assert found.status == "finished" and found.score is not None
    before = found.score
    keep_house(site.services)
    assert site.submission(shown["id"]).score == before


def test_a_team_is_told_once_when_its_last_part_ends(site: Site, tmp_path: Path) -> None:
    site.set_version(shards=2)
    alice, worker = site.member("alice"), site.worker()
    alice.submit()
    for _ in range(2):
        job = worker.claim()
        assert job is not None
        hand_in(worker, job, tmp_path)
    with site.services.database.reading() as session:
        told = session.scalars(select(Notification.title).where(Notification.user_id == alice.id)).all()
    assert len(told) == 1 and "0." in told[0], "one message, with the score of the whole"


def test_a_part_without_its_table_is_our_failure_and_tried_again(site: Site) -> None:
    site.set_version(shards=2)
    alice, worker = site.member("alice"), site.worker()
    shown = alice.submit().json()
    job = worker.claim()
    assert job is not None and worker.complete(job, 0.5).status_code == 204
    (part, _) = alice.call("GET", f"/api/v1/submissions/{shown['id']}").json()["runs"]
    assert part["state"] == "queued"


def test_of_a_refused_result_no_file_is_kept(site: Site) -> None:
    alice, worker = site.member("alice"), site.worker()
    shown = alice.submit().json()
    job = worker.claim()
    assert job is not None and worker.put(job, "log.txt", b"hello").status_code == 204
    log = {"name": "log.txt", "digest": sha256(b"hello").hexdigest(), "size": 5}
    assert worker.complete(job, 7.0, artifacts=[log]).status_code == 204  # no score is 7
    (run,) = alice.call("GET", f"/api/v1/submissions/{shown['id']}").json()["runs"]
    assert (run["state"], run["artifacts"]) == ("queued", [])
