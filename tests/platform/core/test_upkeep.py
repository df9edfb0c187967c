"""Backup, restore, retention and figures: what the operators' pages promise of them."""

import hashlib
import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from anyshot_platform.app import make_services
from anyshot_platform.foundation.artifacts.models import Artifact, Blob
from anyshot_platform.foundation.artifacts.service import keep_file
from anyshot_platform.foundation.background.isolation import TRIES, back_off
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.run_logs.models import RunEvent
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.models import Submission, Upload
from anyshot_platform.judging.submissions.uploads import forget_old_uploads
from anyshot_platform.running.operations import backup, retention
from anyshot_platform.running.operations.backup import back_up, restore
from anyshot_platform.running.operations.figures import collect_figures
from anyshot_platform.running.operations.retention import collect_garbage, collect_orphans
from anyshot_platform.server.sweeper import take_back_lost
from anyshot_platform.site.operations.api import render_metrics
from tests.platform.conftest import make_settings
from tests.platform.core.test_operations import (
    line,
    make_empty_postgres,
    make_s3,
    s3_endpoint,
    s3_without_bucket,
)
from tests.platform.site import Person, Site

__all__ = ["s3_endpoint"]  # a fixture


def empty_site(services: Services, folder: Path) -> Services:
    """A site with nothing in it, on the same kind of database."""
    changes = {} if services.database.is_sqlite else {"database_url": make_empty_postgres(services)}
    return make_services(make_settings(folder, **changes))


def test_a_submission_that_comes_during_a_backup_is_in_it_with_its_zip_or_not_at_all(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, dump = site.member("alice"), backup._dump_database

    def submit_and_dump(services: Services, target: Path) -> str:
        assert alice.submit().status_code == 201
        return dump(services, target)

    monkeypatch.setattr(backup, "_dump_database", submit_and_dump)
    back_up(site.services, tmp_path / "site.tar")
    empty = empty_site(site.services, tmp_path / "restored")
    restore(empty, tmp_path / "site.tar")
    with empty.database.reading() as session:
        (zipped,) = session.scalars(select(Submission.digest))
    assert empty.storage.exists(zipped)
    empty.database.dispose()


@pytest.mark.filterwarnings("ignore::DeprecationWarning:botocore")
def test_a_backup_is_restored_into_a_storage_that_has_no_bucket_yet(
    request: pytest.FixtureRequest, postgres_site: Site, tmp_path: Path
) -> None:
    postgres_site.member("alice").submit()
    back_up(postgres_site.services, tmp_path / "site.tar")
    empty, storage = empty_site(postgres_site.services, tmp_path / "restored"), make_s3(request)
    fresh = s3_without_bucket(request, "restored")
    assert fresh.bucket != storage.bucket
    object.__setattr__(empty, "storage", fresh)
    assert restore(empty, tmp_path / "site.tar") == 3
    assert len(list(fresh.digests())) == 3
    empty.database.dispose()


def finish_with(site: Site, alice: Person, name: str, body: bytes) -> None:
    """A submission of hers ends, with a file and a line of its log."""
    alice.submit()
    worker = site.worker()
    job = worker.claim()
    assert job is not None
    worker.tell(job, line(0, "training"))
    worker.put(job, name, body)
    ref = {"name": name, "digest": hashlib.sha256(body).hexdigest(), "size": len(body)}
    assert worker.complete(job, 0.5, artifacts=[ref]).status_code == 204


def let_days_pass(site: Site, days: int) -> None:
    with site.services.database.writing() as session:
        session.execute(update(Blob).values(touched_at=now() - timedelta(days=days)))
        session.execute(update(Run).values(finished_at=now() - timedelta(days=days)))


def test_files_of_a_deleted_competition_go_after_their_days_too(site: Site) -> None:
    finish_with(site, site.member("alice"), "learner.bin", b"learner")
    with site.services.database.writing() as session:
        site.competition(session).deleted_at = now()
    let_days_pass(site, 40)
    assert collect_garbage(site.services) == 1, "the learner, after its thirty days"
    with site.services.database.reading() as session:
        assert session.scalars(select(Artifact.name)).all() == []
        assert session.scalars(select(Submission.id)).all(), "what a restored competition shows is there"


@pytest.mark.parametrize("days", [30, 60])
def test_what_tells_hidden_labels_goes_with_the_predictions_of_its_competition(site: Site, days: int) -> None:
    names = {"predictions.parquet", "probabilities.npz", "layers.npz", "snapshots.npz"}
    site.set_phase(quota_day=None, quota_concurrent=None)
    alice = site.member("alice")
    for name in names:
        finish_with(site, alice, name, b"of hidden tasks")
    with site.services.database.writing() as session:
        site.competition(session).retention = {"predictions.parquet": days}
    let_days_pass(site, 40)
    collect_garbage(site.services)
    with site.services.database.reading() as session:
        kept = set(session.scalars(select(Artifact.name)))
    assert kept == ({"snapshots.npz"} if days == 30 else names)


@pytest.mark.parametrize("days", [30, 60])
def test_lines_of_a_log_go_after_the_days_of_their_competition(site: Site, days: int) -> None:
    finish_with(site, site.member("alice"), "log.txt", b"training")
    with site.services.database.writing() as session:
        site.competition(session).retention = {"log.txt": days}
    let_days_pass(site, 40)
    collect_garbage(site.services)
    with site.services.database.reading() as session:
        kept = session.scalar(select(func.count()).select_from(RunEvent))
    assert kept == (0 if days == 30 else 1)


def test_a_round_removes_so_many_files_and_who_asks_for_all_gets_all(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "_BATCH", 2)
    for number in range(5):
        (tmp_path / "orphan").write_bytes(b"%d" % number)
        keep_file(site.services, tmp_path / "orphan")
    let_days_pass(site, 3)
    assert collect_garbage(site.services) == 2
    assert collect_orphans(site.services) == 3


def test_postgresql_finds_files_that_nothing_refers_to_by_joins(site: Site) -> None:
    """There are millions of references: `NOT IN` would compare each file with each of them."""
    database = site.services.database
    if database.is_sqlite:
        return
    found = select(Blob.digest).where(retention._is_orphan(now())).compile(database.engine)
    with database.reading() as session:
        rows = session.connection().exec_driver_sql(f"EXPLAIN {found}", found.params)
        plan = "\n".join(rows.scalars())
    assert plan.count("Anti Join") == len(retention._REFERENCES) and "SubPlan" not in plan


@pytest.mark.seconds("waits for a sweep")
def test_leases_that_the_scheduler_takes_back_are_in_the_metrics_of_the_web_service(site: Site) -> None:
    """The counters belonged to the process: where the sweeper is another one, they stayed 0."""
    site.member("alice").submit()
    for _ in range(3):
        assert site.worker().claim() is not None
        with site.services.database.writing() as session:
            session.execute(update(Run).values(lease_expires_at=now() - timedelta(seconds=1)))
        assert take_back_lost(site.services) == 1
    with site.services.database.reading() as session:
        figures = collect_figures(session)
        shown = render_metrics(session).decode()
    assert figures.get_sample_value("anyshot_leases_lost_total") == 3
    assert figures.get_sample_value("anyshot_runs_ended_total", {"verdict": "WORKER_LOST"}) == 1
    assert "\nanyshot_leases_lost_total 3.0\n" in shown
    assert shown.count("# TYPE anyshot_leases_lost_total counter") == 1


def test_what_is_left_of_broken_off_uploads_is_removed(site: Site) -> None:
    alice = site.member("alice")
    begun = alice.call("POST", "/api/v1/uploads", json={"filename": "a.zip", "size": 10}).json()["id"]
    forgotten = alice.call("POST", "/api/v1/uploads", json={"filename": "b.zip", "size": 10}).json()["id"]
    folder = site.services.settings.upload_folder
    names = ("0" * 32 + ".part", "1" * 32 + ".abc.sealed", "2" * 32 + ".part")
    for name in names:
        (folder / name).touch()
    three_days_ago = time.time() - 3 * 86_400
    for name in (*names[:2], f"{begun}.part"):
        os.utime(folder / name, (three_days_ago, three_days_ago))
    with site.services.database.writing() as session:
        old = now() - timedelta(days=3)
        session.execute(update(Upload).where(Upload.id == forgotten).values(created_at=old))
    assert forget_old_uploads(site.services) == 3, "one with a row, two without"
    assert {path.name for path in folder.iterdir()} == {names[2], f"{begun}.part"}, "the first is new"


def test_what_fails_is_set_aside_after_as_long_as_the_guide_says() -> None:
    guide = (Path(__file__).parents[3] / "docs/operators/deployment.md").read_text()
    assert (
        TRIES == 8 and "tried again, ever later, eight times in about an hour; then it is set aside" in guide
    )
    until_the_last = sum((back_off(attempts) for attempts in range(1, TRIES)), timedelta())
    assert abs(until_the_last - timedelta(hours=1)) < timedelta(minutes=6)
