"""A stored file is sent in one way, wherever it is asked for: whole, or the part that a broken download lacks."""

import hashlib
import io
import logging
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import anyshot_platform
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.pools.models import Pack, Pool
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.storage import FolderStorage
from tests.platform.site import SLUG, PaperWorker, Site, make_zip


@pytest.fixture
def files(site: Site) -> dict[str, bytes]:
    """Addresses of stored files that alice may have, with what they hold."""
    alice, worker = site.member("alice"), site.worker()
    submission = alice.submit(make_zip(salt="stored")).json()["id"]
    job = worker.claim()
    assert job is not None
    tables = b"tables of a logger"
    assert worker.put(job, "logger.zip", tables).status_code == 204
    kept = {"name": "logger.zip", "digest": hashlib.sha256(tables).hexdigest(), "size": len(tables)}
    assert worker.complete(job, 0.5, artifacts=[kept]).status_code == 204
    with site.services.database.writing() as session:
        pool = session.scalars(select(Pool).where(Pool.slug == "small-train")).one()
        pool.published_at = now()
        pack = session.scalars(select(Pack).where(Pack.name == "small-training")).one()
    api = f"/api/v1/submissions/{submission}"
    data = b"a pack named small-training"
    return {
        f"{api}/archive": make_zip(salt="stored"),
        f"{api}/runs/{job['run_id']}/artifacts/logger.zip": tables,
        f"/organize/pools/small-train/packs/{pack.id}/download": data,
        f"/api/v1/competitions/small/data/{pack.digest}/pack": data,
        job["submission"]["url"]: make_zip(salt="stored"),
    }


def test_a_broken_download_goes_on_wherever_it_began(site: Site, files: dict[str, bytes]) -> None:
    reviewer = site.member("rita", Role.REVIEWER)
    for address, content in files.items():
        whole = reviewer.call("GET", address)
        assert (whole.status_code, whole.content) == (200, content), address
        assert whole.headers["accept-ranges"] == "bytes", address
        part = reviewer.call("GET", address, headers={"range": f"bytes=3-{len(content)}"})
        assert (part.status_code, part.content) == (206, content[3:]), address
        beyond = reviewer.call("GET", address, headers={"range": "bytes=99999-"})
        assert beyond.status_code == 416, address


def test_a_file_that_is_no_longer_kept_is_not_found(site: Site, files: dict[str, bytes]) -> None:
    owner = site.owner()
    for digest, _ in list(site.services.storage.digests()):
        site.services.storage.delete(digest)
    for address in files:
        assert owner.call("GET", address).status_code == 404, address


def test_nobody_else_streams_a_stored_file() -> None:
    folder = Path(anyshot_platform.__file__).parent
    users = {
        str(path.relative_to(folder)) for path in folder.rglob("*.py") if "read_chunks(" in path.read_text()
    }
    assert users == {
        "foundation/artifacts/service.py",
        "site/web/files.py",
        "site/submissions/downloads.py",
    }  # the last: a made zip


class Elsewhere:
    """A storage that sends by itself, as S3 does, and has the files of another."""

    def __init__(self, kept: FolderStorage) -> None:
        self.exists, self.open = kept.exists, kept.open

    def direct_url(self, digest: str, seconds: int, name: str | None = None, media_type: str = "") -> str:
        return f"https://storage.example/{digest}?name={name}"


def test_where_the_storage_sends_files_pages_still_have_their_images(
    site: Site, files: dict[str, bytes]
) -> None:
    """A page shows pictures of its own address alone."""
    owner, picture = site.owner(), b"<svg xmlns='http://www.w3.org/2000/svg'/>"
    upload = owner.upload(picture, "way.svg")
    path = f"/api/v1/competitions/{SLUG}/manage/files/way.svg"
    assert owner.call("PUT", path, json={"upload_id": upload}).status_code == 200
    kept = site.services.storage
    assert isinstance(kept, FolderStorage)
    object.__setattr__(site.services, "storage", Elsewhere(kept))
    archive = next(iter(files))
    sent = owner.call("GET", archive, follow_redirects=False)
    assert sent.status_code == 303 and "name=submission-1.zip" in sent.headers["location"]
    shown = owner.call("GET", f"/competitions/{SLUG}/files/way.svg", follow_redirects=False)
    assert (shown.status_code, shown.content) == (200, picture)
    assert "sandbox" in shown.headers["content-security-policy"]


def test_asking_whether_a_site_is_ready_leaves_no_line_in_its_log(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert site.client.get("/ready").json()["database"] is not None
    assert [record.getMessage() for record in caplog.records if "alembic" in record.name] == []


def hand_over(worker: PaperWorker, job: dict[str, Any], files: dict[str, bytes]) -> dict[str, Any]:
    """Upload files of an attempt; what its final word says of them."""
    for name, content in files.items():
        assert worker.put(job, name, content).status_code == 204
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return {
        "artifacts": [{"name": name, "digest": digests[name], "size": len(files[name])} for name in files]
    }


@pytest.mark.parametrize("ends", ["complete", "fail"])
def test_of_a_run_that_was_tried_again_the_files_of_its_last_attempt_are_shown(site: Site, ends: str) -> None:
    alice, worker = site.member("alice"), site.worker()
    submission = alice.submit(make_zip(salt="twice")).json()["id"]
    first = worker.claim()
    assert first is not None
    broken = hand_over(worker, first, {"log.txt": b"the first attempt", "logger.zip": b"its tables"})
    assert worker.fail(first, "DOCKER_ERROR", **broken).status_code == 204
    again = worker.claim()
    assert again is not None and again["run_id"] == first["run_id"]
    kept = hand_over(worker, again, {"log.txt": b"the second attempt"})
    ended = (
        worker.complete(again, 0.5, **kept)
        if ends == "complete"
        else worker.fail(again, "RUNTIME_ERROR", **kept)
    )
    assert ended.status_code == 204
    path = f"/api/v1/submissions/{submission}"
    log = alice.call("GET", f"{path}/runs/{again['run_id']}/artifacts/log.txt")
    assert (log.status_code, log.content) == (200, b"the second attempt")
    assert alice.call("GET", f"{path}/runs/{again['run_id']}/artifacts/logger.zip").status_code == 404
    everything = alice.call("GET", f"{path}/everything").content
    with zipfile.ZipFile(io.BytesIO(everything)) as whole:
        kept_of_run = [name for name in whole.namelist() if name.startswith("runs/")]
        assert kept_of_run == ["runs/1/log.txt"]
        assert whole.read("runs/1/log.txt") == b"the second attempt"


def test_the_page_of_a_submission_offers_what_each_of_its_runs_kept(site: Site) -> None:
    site.set_version(train_seeds=[1, 2], test_seeds=[])
    alice, worker = site.member("alice"), site.worker()
    submission = alice.submit(make_zip(salt="two runs")).json()["id"]
    tables = {}
    for number in (1, 2):
        job = worker.claim()
        assert job is not None
        tables[f"Run {number} of 2"] = content = f"tables of run {number}".encode()
        kept = hand_over(worker, job, {"logger.zip": content})
        assert worker.complete(job, 0.5, **kept).status_code == 204
    page = alice.call("GET", f"/submissions/{submission}").text
    unfolded = re.findall(r"<summary>(Run \d of 2)[^<]*</summary>(.*?)</details>", page, re.DOTALL)
    links = {title: re.findall(r'href="([^"]*logger\.zip)"', files) for title, files in unfolded}
    assert {title: alice.call("GET", link).content for title, (link,) in links.items()} == tables
