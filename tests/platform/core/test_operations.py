"""Logs, live stream, storage, retention, backup, webhooks, alerts, health."""

import hashlib
import io
import json
import subprocess
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from moto.server import ThreadedMotoServer
from sqlalchemy import func, select, text, update
from sqlalchemy.exc import DBAPIError

from anyshot_platform.app import make_services
from anyshot_platform.foundation.artifacts.models import Artifact, Blob
from anyshot_platform.foundation.artifacts.s3 import S3Storage
from anyshot_platform.foundation.artifacts.service import keep_file
from anyshot_platform.foundation.background.dispatch import Dispatcher
from anyshot_platform.foundation.background.doorbell import Doorbell
from anyshot_platform.foundation.background.outbox import send_due_rings
from anyshot_platform.foundation.database import Base, new_id, now
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.settings import read_settings
from anyshot_platform.foundation.storage import FolderStorage, Storage
from anyshot_platform.judging.receipts.service import find_public_key
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.people.audit.service import record
from anyshot_platform.people.notifications.delivery import send_due_emails
from anyshot_platform.people.users.models import User
from anyshot_platform.people.webhooks.delivery import (
    ForbiddenAddress,
    resolve,
    send_due_deliveries,
    signature,
    webhook_secret,
)
from anyshot_platform.people.webhooks.models import Webhook, WebhookDelivery
from anyshot_platform.running.announcements.results import say_change
from anyshot_platform.running.operations.backup import BackupFailed, back_up, restore
from anyshot_platform.running.operations.retention import collect_garbage
from anyshot_platform.server import serving
from tests.platform.conftest import make_settings
from tests.platform.site import Site, make_zip


def line(seq: int, text: str, stage: str = "meta_training", stream: str = "stdout") -> dict[str, Any]:
    return {"seq": seq, "at": 1.0, "stream": stream, "stage": stage, "text": text}


def test_log_lines_are_kept_once_and_shown_under_the_policy(site: Site) -> None:
    alice, worker = site.member("alice"), site.worker()
    shown = alice.submit().json()
    job = worker.claim()
    assert job is not None
    lines = [
        line(0, "training\x00"),
        line(1, "testing", "meta_testing"),
        line(2, "ours", "meta_testing", "platform"),
    ]
    for _ in range(2):
        assert worker.tell(job, *lines).status_code == 204
    log = f"/api/v1/submissions/{shown['id']}/log"
    seen = alice.call("GET", log).json()
    assert [entry["text"] for entry in seen] == ["training\ufffd", "ours"]
    assert [entry["text"] for entry in site.owner().call("GET", log).json()] == [
        "training\ufffd",
        "testing",
        "ours",
    ]
    assert alice.call("GET", log, params={"after": seen[-1]["id"]}).json() == []


def test_the_page_counts_the_lines_that_are_kept_and_not_those_that_it_shows(site: Site) -> None:
    alice, worker = site.member("alice"), site.worker()
    shown = alice.submit().json()
    job = worker.claim()
    assert job is not None
    for start in range(0, 1_200, 300):
        worker.tell(job, *[line(seq, f"line {seq}") for seq in range(start, start + 300)])
    page = alice.call("GET", f"/submissions/{shown['id']}", headers={"accept": "text/html"}).text
    assert 'data-total="1200"' in page and "The last 1,000 lines are shown" in page


def test_the_stream_resumes_where_it_broke_off(site: Site) -> None:
    alice, worker = site.member("alice"), site.worker()
    shown = alice.submit().json()
    job = worker.claim()
    assert job is not None
    lines = [line(seq, f"line {seq}") for seq in range(700)]
    worker.tell(job, *lines)
    worker.complete(job, 0.5)
    path = f"/api/v1/submissions/{shown['id']}/stream"
    events = parse(alice.call("GET", path).text)
    logs = [entry for event in events if event["event"] == "log" for entry in json.loads(event["data"])]
    assert [entry[4] for entry in logs] == [f"line {seq}" for seq in range(700)]
    states = [json.loads(event["data"]) for event in events if event["event"] == "state"]
    assert states[-1]["status"] == "finished" and events[-1]["event"] == "end"
    middle = logs[349][0]
    resumed = parse(alice.call("GET", path, headers={"last-event-id": str(middle)}).text)
    again = [entry for event in resumed if event["event"] == "log" for entry in json.loads(event["data"])]
    assert again == logs[350:]


def parse(text: str) -> list[dict[str, str]]:
    """The events of a stream."""
    events = []
    for block in text.split("\n\n"):
        fields = dict(part.split(": ", 1) for part in block.splitlines() if ": " in part)
        if "event" in fields:
            events.append(fields)
    return events


@pytest.fixture(scope="module")
def s3_endpoint() -> Iterator[str]:
    """A real S3 server process: moto's."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(params=["folder", "s3"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """Each kind of storage."""
    return FolderStorage(tmp_path / "blobs") if request.param == "folder" else make_s3(request)


def make_s3(request: pytest.FixtureRequest) -> S3Storage:
    made = s3_without_bucket(request, "tests")
    made.prepare()
    made.prepare()
    return made


def s3_without_bucket(request: pytest.FixtureRequest, bucket: str) -> S3Storage:
    return S3Storage(
        bucket=bucket,
        endpoint=request.getfixturevalue("s3_endpoint"),
        public_endpoint=None,
        region="us-east-1",
        access_key="key",
        secret_key="secret",
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning:botocore")
def test_storages_keep_files_alike(storage: Storage, tmp_path: Path) -> None:
    source = tmp_path / "file"
    source.write_bytes(b"content")
    digest = hashlib.sha256(b"content").hexdigest()
    assert not storage.exists(digest)
    with pytest.raises(FileNotFoundError):
        storage.open(digest)
    storage.put(digest, source)
    storage.put(digest, source)
    with storage.open(digest) as file:
        assert file.read() == b"content"
        file.seek(-4, 2)  # tables are read from their end
        assert file.read() == b"tent"
    assert (digest, 7) in set(storage.digests())
    storage.delete(digest)
    storage.delete(digest)
    assert not storage.exists(digest)


def test_the_whole_way_with_s3(request: pytest.FixtureRequest, postgres_services: Services) -> None:
    object.__setattr__(postgres_services, "storage", make_s3(request))
    import httpx

    with Site(postgres_services) as site:
        alice, worker = site.member("alice"), site.worker()
        shown = alice.submit().json()
        job = worker.claim()
        assert job is not None and job["submission"]["url"].startswith("http://127.0.0.1")
        assert httpx.get(job["submission"]["url"]).content == make_zip(salt="alice")
        assert worker.put(job, "log.txt", b"hello").status_code == 204
        assert worker.complete(job, 0.5).status_code == 204
        fetched = alice.call("GET", f"/api/v1/submissions/{shown['id']}/archive", follow_redirects=False)
        assert fetched.status_code == 303 and "Signature" in fetched.headers["location"]
        assert site.board()["rows"][0]["score"] == 0.5


def test_a_signed_address_works_for_its_file_and_time_only(site: Site) -> None:
    site.member("alice").submit()
    job = site.worker().claim()
    assert job is not None
    url = job["submission"]["url"]
    assert site.client.get(url).status_code == 200
    other = job["meta_test"][0]["blob"]["digest"]
    assert site.client.get(url.replace(job["submission"]["digest"], other)).status_code == 403
    assert site.client.get(url[:-1] + ("0" if url[-1] != "0" else "1")).status_code == 403
    assert site.client.get(re_expire(url)).status_code == 403


def re_expire(url: str) -> str:
    """The address with its end moved."""
    head, _, tail = url.partition("expires=")
    stamp, _, rest = tail.partition("&")
    return f"{head}expires={int(stamp) + 3600}&{rest}"


def test_retention_removes_what_nothing_refers_to_and_nothing_else(site: Site, tmp_path: Path) -> None:
    services = site.services
    alice, worker = site.member("alice"), site.worker()
    shown = alice.submit().json()
    job = worker.claim()
    assert job is not None
    import hashlib

    bodies = {"learner.bin": b"learner", "log.txt": b"log"}
    for name, body in bodies.items():
        worker.put(job, name, body)
    refs = [
        {"name": name, "digest": hashlib.sha256(body).hexdigest(), "size": len(body)}
        for name, body in bodies.items()
    ]
    worker.complete(job, 0.5, artifacts=refs)
    orphan = tmp_path / "orphan"
    orphan.write_bytes(b"nobody wants this")
    lost = keep_file(services, orphan).digest
    assert collect_garbage(services) == 0  # everything was touched just now
    with services.database.writing() as session:
        session.execute(update(Blob).values(touched_at=now() - timedelta(days=3)))
        session.execute(update(Run).values(finished_at=now() - timedelta(days=40)))
    assert collect_garbage(services) == 2  # the orphan, and the learner after its thirty days
    assert not services.storage.exists(lost)
    with services.database.reading() as session:
        assert session.scalars(select(Artifact.name)).all() == ["log.txt"]
        assert session.scalar(select(func.count()).select_from(Blob)) == 4  # submission, log and two packs
    assert alice.call("GET", f"/api/v1/submissions/{shown['id']}/archive").status_code == 200


def test_retention_knows_every_reference_to_a_file() -> None:
    columns = [column for table in Base.metadata.tables.values() for column in table.columns]
    pointing = {
        f"{column.table.name}.{column.name}"
        for column in columns
        for key in column.foreign_keys
        if key.target_fullname == "blobs.digest"
    }
    assert pointing == {
        "submissions.digest",
        "packs.digest",
        "competition_files.digest",
        "packs.fingerprints",
        "artifacts.digest",
        "checkpoints.digest",
        "baselines.digest",
    }


def test_backup_and_restore(site: Site, tmp_path: Path) -> None:
    services = site.services
    alice, worker = site.member("alice"), site.worker()
    alice.submit()
    job = worker.claim()
    assert job is not None
    worker.complete(job, 0.5)
    target = tmp_path / "backup.tar"
    assert back_up(services, target).files == 3  # submission and two packs
    assert target.stat().st_mode & 0o077 == 0  # it holds every hidden image
    with pytest.raises(BackupFailed):
        restore(services, target)
    changes: dict[str, object] = {}
    if not services.database.is_sqlite:
        changes["database_url"] = make_empty_postgres(services)
    empty = make_services(make_settings(tmp_path / "restored", **changes))
    assert restore(empty, target) == 3
    with services.database.reading() as session:
        key = find_public_key(session)
    with empty.database.reading() as session:
        assert session.scalars(select(Run.state)).all() == ["finished"]
        assert find_public_key(session) == key
        if not services.database.is_sqlite:
            assert session.scalar(text("SELECT reltuples FROM pg_class WHERE relname = 'runs'")) == 1
    assert {digest for digest, _ in empty.storage.digests()} == {d for d, _ in services.storage.digests()}
    empty.database.dispose()


def test_what_a_crash_left_beside_the_database_is_named_before_anything_is_restored(
    sqlite_site: Site, tmp_path: Path
) -> None:
    """SQLite plays the log of a site that was killed over whatever database lies beside it: the old data came back."""
    back_up(sqlite_site.services, target := tmp_path / "backup.tar")
    empty = make_services(make_settings(tmp_path / "restored"))
    database = Path(empty.database.engine.url.database or "")
    for end in ("-wal", "-shm", "-journal"):
        left = database.with_name(database.name + end)
        left.parent.mkdir(parents=True, exist_ok=True)
        left.write_bytes(b"pages of the old site")
        with pytest.raises(BackupFailed) as told:
            restore(empty, target)
        assert str(told.value) == f"{left} exists: a backup is restored into an empty site only."
        assert not database.exists()
        left.unlink()
    restore(empty, target)
    with empty.database.reading() as session:
        assert session.get(User, sqlite_site.owner_id)
    empty.database.dispose()


def make_empty_postgres(services: Services) -> str:
    """The address of an empty database beside the site's."""
    url = services.database.engine.url
    name = f"{url.database}_{new_id()[-12:]}"
    with services.database.engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(
            f'CREATE DATABASE "{name}"'
        )
    return url.set(database=name).render_as_string(hide_password=False)


def test_the_audit_log_only_grows(site: Site) -> None:
    with site.services.database.writing() as session:
        record(session, actor_id=site.owner_id, action="test", object_type="thing", object_id="1")
    for statement in (update(AuditEntry).values(action="forged"), AuditEntry.__table__.delete()):  # pyright: ignore[reportAttributeAccessIssue]
        with pytest.raises(DBAPIError, match="append-only"), site.services.database.writing() as session:
            session.execute(statement)


class Receiver(BaseHTTPRequestHandler):
    """Keeps what is posted."""

    posts: list[tuple[dict[str, str], bytes]] = []  # noqa: RUF012 - one receiver a test
    status = 200

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        type(self).posts.append(({key.lower(): value for key, value in self.headers.items()}, body))
        self.send_response(type(self).status)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[HTTPServer]:
    """A web server on loopback."""
    Receiver.posts, Receiver.status = [], 200
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def test_webhooks_are_signed_and_retried(site: Site, receiver: HTTPServer) -> None:
    services = site.services
    settings = services.settings.model_copy(update={"webhooks_to_private_addresses": True})
    object.__setattr__(services, "settings", settings)
    with services.database.writing() as session:
        hook = Webhook(
            competition_id=site.competition(session).id,
            url=f"http://127.0.0.1:{receiver.server_port}/hook",
            events=["submission.queued"],
            created_by=site.owner_id,
        )
        session.add(hook)
        session.flush()
        secret = webhook_secret(services.signer, hook)
    Receiver.status = 500
    site.member("alice").submit()
    assert send_due_deliveries(services) == 0
    assert send_due_deliveries(services) == 0  # not before its back-off is over
    Receiver.status = 200
    with services.database.writing() as session:
        session.execute(update(WebhookDelivery).values(next_at=now()))
    assert send_due_deliveries(services) == 1
    assert len(Receiver.posts) == 2
    headers, body = Receiver.posts[-1]
    assert headers["x-anyshot-signature"] == signature(secret, int(headers["x-anyshot-timestamp"]), body)
    assert json.loads(body)["event"] == "submission.queued"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/x",
        "http://[::1]/x",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest",
        "file:///etc/passwd",
    ],
)
def test_webhooks_do_not_reach_inside(url: str) -> None:
    with pytest.raises(ForbiddenAddress):
        resolve(url, private_allowed=False)


def test_emails_are_files_in_the_embedded_set_up(site: Site) -> None:
    services = site.services
    alice, worker = site.member("alice"), site.worker()
    shown = alice.submit().json()
    job = worker.claim()
    assert job is not None
    worker.complete(job, 0.5)
    assert send_due_emails(services, say_change) == 1
    assert send_due_emails(services, say_change) == 0
    text = next((services.settings.home / "mail").glob("*.eml")).read_text()
    assert "alice@example.org" in text and f"http://testserver/submissions/{shown['id']}" in text


def test_the_broker_may_be_away(site: Site) -> None:
    services = site.services
    dead = services.settings.model_copy(update={"broker_url": "redis://127.0.0.1:1/0"})
    doorbell = Doorbell(dead)
    dispatched = threading.Event()
    dispatcher = Dispatcher(services.database, "test", dispatched.set)
    dispatcher.start()
    site.member("alice").submit()
    assert dispatched.wait(60)
    dispatcher.stop()
    send_due_rings(services.database, doorbell)
    doorbell.close()
    assert site.worker().claim() is not None


def test_the_doorbell_rings_over_redis(site: Site, redis_url: str) -> None:
    import redis

    doorbell = Doorbell(site.services.settings.model_copy(update={"broker_url": redis_url}))
    assert doorbell.ring("0" * 32, "gpu")
    doorbell.close()
    client = redis.Redis.from_url(redis_url)
    message = json.loads(client.lrange("anyshot.gpu", 0, -1)[0])  # pyright: ignore[reportIndexIssue, reportArgumentType]
    client.close()
    assert message["headers"]["task"] == "anyshot.ring"


def test_health_and_metrics(site: Site) -> None:
    assert site.client.get("/health").json() == {"status": "ok"}
    parts = {"status": "ok", "database": "ok", "storage": "ok", "loops": "ok"}
    assert site.client.get("/ready").json() == parts
    site.member("alice").submit()
    assert site.client.get("/metrics").status_code == 404  # the test client is not on loopback
    settings = site.services.settings.model_copy(update={"metrics_token": _secret("m" * 20)})
    object.__setattr__(site.services, "settings", settings)
    answer = site.client.get("/metrics", headers={"authorization": "Bearer " + "m" * 20})
    assert 'anyshot_queued_runs{hardware_class="cpu"} 1.0' in answer.text
    assert "anyshot_uploads_total" in answer.text


def _secret(text: str) -> object:
    from pydantic import SecretStr

    return SecretStr(text)


def test_a_resumable_upload(site: Site) -> None:
    alice = site.member("alice")
    content = make_zip(
        {"model.py": b"class MyMetaLearner: pass\nclass MyLearner: pass\n", "w.bin": b"w" * 5000}
    )
    begun = alice.call(
        "POST", "/api/v1/uploads", json={"filename": "../../x.zip", "size": len(content)}
    ).json()
    assert begun["filename"] == "x.zip"
    path = f"/api/v1/uploads/{begun['id']}"
    assert alice.call("PUT", path, params={"offset": 0}, content=content[:1000]).json()["received"] == 1000
    refused = alice.call("PUT", path, params={"offset": 0}, content=content)
    assert (refused.status_code, refused.json()["received"]) == (409, 1000)
    early = alice.call("POST", f"{path}/check")
    assert early.status_code == 409
    assert alice.call("GET", path).json()["received"] == 1000
    too_much = alice.call("PUT", path, params={"offset": 1000}, content=content[1000:] + b"more")
    assert too_much.status_code == 413


def test_an_upload_beyond_the_limit_is_refused_at_once(site: Site) -> None:
    alice = site.member("alice")
    refused = alice.call("POST", "/api/v1/uploads", json={"filename": "x.zip", "size": 2 << 30})
    assert (refused.status_code, refused.json()["error"]) == (413, "too_large")


def test_only_trusted_zips_without_a_sandbox(site: Site) -> None:
    import hashlib

    trusted = make_zip(salt="trusted")
    digests = (hashlib.sha256(trusted).hexdigest(),)
    settings = site.services.settings.model_copy(update={"trusted_digests": digests})
    object.__setattr__(site.services, "settings", settings)
    alice = site.member("alice")
    assert alice.submit(make_zip(salt="other")).json()["error"] == "not_trusted"
    assert alice.submit(trusted).status_code == 201


def test_quota_holds_against_uploads_at_once(site: Site) -> None:
    from concurrent.futures import ThreadPoolExecutor

    site.set_phase(quota_concurrent=None)
    alice = site.member("alice")
    with ThreadPoolExecutor(6) as pool:
        answers = list(
            pool.map(lambda number: alice.submit(make_zip(salt=f"q{number}")).status_code, range(6))
        )
    assert sorted(answers) == [201] * 3 + [429] * 3


def test_json_logs_carry_what_is_known() -> None:
    import logging

    from anyshot_platform.foundation.logs import JsonFormatter

    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.Logger("test")
    logger.addHandler(handler)
    logger.warning("a lease ran out", extra={"run_id": "r1", "submission_id": "s1"})
    entry = json.loads(stream.getvalue())
    assert (entry["message"], entry["run_id"], entry["submission_id"], entry["level"]) == (
        "a lease ran out",
        "r1",
        "s1",
        "warning",
    )


def test_the_embedded_worker_logs_in_the_form_of_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[dict[str, str]] = []
    known = threading.Event()

    def begin(_command: list[str], *, env: dict[str, str], **_: object) -> None:
        begun.append(env)
        known.set()
        raise OSError("nothing is started here")

    monkeypatch.setattr(subprocess, "Popen", begin)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    for form in ("json", "text"):
        known.clear()
        worker = serving.EmbeddedWorker(make_settings(tmp_path, log_format=form), "token", lambda: 8000)
        worker.start()
        assert known.wait(10)
        worker.stop()
    assert [env["ANYSHOT_LOG_FORMAT"] for env in begun] == ["json", "text"]


def test_no_quota_means_no_quota(site: Site) -> None:
    """An explicit None stays None, and a phase that says nothing has the usual quotas."""
    from anyshot_platform.contest.phases.models import Phase

    shared = {"competition_id": "", "name": "x", "starts_at": now()}
    with site.services.database.writing() as session:
        shared["competition_id"] = site.competition(session).id
        free = Phase(**shared, slug="free", quota_day=None, quota_phase=None, quota_concurrent=None)
        usual = Phase(**shared, slug="usual")
        session.add_all([free, usual])
        session.flush()
        session.refresh(free)
        assert (free.quota_day, free.quota_phase, free.quota_concurrent) == (None, None, None)
        assert (usual.quota_day, usual.smoke_quota_day) == (2, 10)


def test_a_database_that_is_away_is_503(tmp_path: Path) -> None:
    from fastapi.testclient import TestClient

    from anyshot_platform.app import create_app

    nowhere = make_settings(tmp_path, database_url="postgresql://nobody@127.0.0.1:1/none")
    client = TestClient(create_app(nowhere))
    for accept in ("application/json", "text/html"):
        answer = client.get("/api/v1/competitions", headers={"accept": accept})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert client.get("/ready").status_code == 503
    assert client.get("/health").status_code == 200


def test_several_web_processes_know_the_port_and_have_the_worker_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker was left out without a word, and links of the pages led to port 8000."""
    begun: list[tuple[str, int]] = []
    monkeypatch.setattr(serving, "make_services", lambda settings: None)
    monkeypatch.setattr(serving, "prepare", lambda services: None)
    monkeypatch.setattr(serving, "make_embedded_token", lambda services: "token")
    monkeypatch.setattr(serving.EmbeddedWorker, "start", lambda self: begun.append(("worker", self._port())))
    monkeypatch.setattr(uvicorn, "run", lambda *_, port, **__: begun.append(("web", port)))
    for name in ("ANYSHOT_SECRET_KEY", "ANYSHOT_HOME", "ANYSHOT_PORT"):
        monkeypatch.setenv(name, "")
    for port in (18_080, 0):
        begun.clear()
        settings = make_settings(tmp_path, port=port, web_processes=2)
        serving.serve(settings, embedded_worker=True, sweeper=False)
        (_, used), (_, served_at) = begun
        assert [kind for kind, _ in begun] == ["worker", "web"] and used == served_at > 0
        assert port in (0, used)
        assert read_settings().base_url == f"http://127.0.0.1:{used}"
