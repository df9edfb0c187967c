"""A machine becomes a worker by a code that an administrator enters: the real command at a real site."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from click.testing import CliRunner, Result
from httpx2 import Response
from pydantic import ValidationError
from sqlalchemy import select

from anyshot_core.command import AS_PROCESS
from anyshot_core.wire.joining import JOIN_PATH
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.workers import requests
from anyshot_platform.judging.workers.models import Worker, WorkerRequest, WorkerToken
from anyshot_platform.judging.workers.requests import forget_old_requests
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_worker.cli import worker
from anyshot_worker.sandbox.guarantees import GUARANTEES
from anyshot_worker.sandbox.preflight import PreflightFinding
from anyshot_worker.settings import WorkerSettings
from tests.contract.recording import worker_info
from tests.platform.site import Person, Site
from tests.services.processes import free_port, running
from tests.services.sites import served
from tests.starting_kit.cli.test_platform_commands import call

T = TypeVar("T")
REQUESTS = "/api/v1/admin/worker-requests"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nothing is set but that all submissions are trusted; its state folder."""
    for name in os.environ:
        if name.startswith("ANYSHOT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ANYSHOT_SANDBOX", "trusted")
    monkeypatch.setenv("ANYSHOT_TRUST_ALL_SUBMISSIONS", "true")
    monkeypatch.setenv("ANYSHOT_STATE_FOLDER", str(tmp_path / "state"))
    monkeypatch.setenv("ANYSHOT_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "state"


@pytest.fixture
def address(site: Site) -> Iterator[str]:
    with served(site.app, free_port(), lifespan="off") as found:
        yield found


def until(look: Callable[[], T | None]) -> T:
    """What is there in the end."""
    deadline = time.monotonic() + 60
    while not (found := look()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def rows(site: Site, table: type[T]) -> list[T]:
    with site.services.database.reading() as session:
        return list(session.scalars(select(table)))


def join(address: str, *words: str) -> Result:
    return CliRunner().invoke(worker, ["join", address, *words], catch_exceptions=False)


@pytest.mark.slow("starts a worker process")
def test_a_machine_joins_by_a_code_that_is_entered_on_the_page(
    site: Site, address: str, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "INTERVAL", 1)
    admin = site.person("adele", is_site_admin=True)
    page = admin.call("GET", "/admin/workers").text
    assert f"&amp;&amp; anyshot worker join {site.services.settings.base_url}" in page
    with ThreadPoolExecutor(1) as beside:
        asked = beside.submit(join, f"{address}/", "--name", "gpu-1", "--hardware-class", "a100")
        (asking,) = until(lambda: rows(site, WorkerRequest))
        shown = admin.call("GET", "/admin/worker-requests", params={"code": asking.code.lower()}).text
        assert "gpu-1" in shown and "a100" in shown and f"{os.cpu_count()}" in shown and "trusted" in shown
        assert rows(site, WorkerToken) == []
        let_in = admin.call(
            "POST",
            f"/admin/worker-requests/{asking.code}/join",
            data={"name": "gpu-1", "hardware_class": "a100", "days": "30"},
            follow_redirects=False,
        )
        assert let_in.status_code == 303 and let_in.headers["location"] == "/admin/workers"
        said = asked.result(60)
    assert said.exit_code == 0 and asking.code in said.output and "Sandbox: trusted" in said.output
    kept = machine / "worker.json"
    assert f"its token is in {kept}" in said.output and kept.stat().st_mode & 0o777 == 0o600
    assert "anyworker_" not in said.output
    (token,) = rows(site, WorkerToken)
    assert (token.name, token.hardware_class) == ("gpu-1", "a100")
    assert timedelta(days=29) < token.expires_at - now() < timedelta(days=30)  # pyright: ignore[reportOptionalOperand]
    logged = [entry for entry in rows(site, AuditEntry) if entry.action == "worker.join"]
    assert [entry.after["id"] for entry in logged] == [token.id]
    with running([*AS_PROCESS, "worker", "run"], machine / "log.txt", env=dict(os.environ)) as process:
        (come,) = until(lambda: rows(site, Worker))  # it asks without a broker
        assert (come.name, come.hardware_class, come.token_id) == ("gpu-1", "a100", token.id)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_a_token_that_is_kept_goes_to_no_other_platform(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.mkdir()
    said = {
        "platform_url": "http://site",
        "worker_token": "anyworker_x",
        "worker_name": "m",
        "hardware_class": "cpu",
    }
    (machine / "worker.json").write_text(json.dumps(said))
    assert WorkerSettings().worker_token.get_secret_value() == "anyworker_x"  # pyright: ignore[reportCallIssue]
    monkeypatch.setenv("ANYSHOT_WORKER_NAME", "other")
    assert WorkerSettings().worker_name == "other"  # pyright: ignore[reportCallIssue]
    monkeypatch.setenv("ANYSHOT_PLATFORM_URL", "http://elsewhere")
    with pytest.raises(ValidationError, match="worker_token"):
        WorkerSettings()  # pyright: ignore[reportCallIssue]
    refused = CliRunner().invoke(worker, ["run"])
    assert refused.exit_code == 1 and "To get them: anyshot worker join ADDRESS" in refused.output


def test_a_machine_whose_sandbox_fails_is_told_what_to_do_and_asks_for_nothing(
    site: Site, address: str, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (network, *_) = GUARANTEES
    failed = [PreflightFinding(network, "interfaces ['eth0']")]
    monkeypatch.setattr("anyshot_worker.sandbox.preflight.check_guarantees", lambda *_, **__: failed)
    said = join(address)
    assert said.exit_code == 1 and f"What to do: {network.remedy}." in said.output
    assert rows(site, WorkerRequest) == []


def test_an_administrator_lets_a_machine_in_from_a_script(site: Site, address: str, machine: Path) -> None:
    admin, code = site.person("adele", is_site_admin=True), ask(site)["user_code"]
    assert call("login", "--server", address, "--token", admin.token).exit_code == 0
    shown = ("administer", "show", "worker-request", code, "--only", "name,memory_bytes,joined")
    memory = machine_info()["memory_bytes"]
    assert call(*shown).output == f"gpu-1\t{memory}\tfalse\n"
    done = call("administer", "do", "worker.join", code, "--set", "days=7")
    assert done.exit_code == 0 and json.loads(done.output)["joined"] is True, done.output
    assert [token.name for token in rows(site, WorkerToken)] == ["gpu-1"]
    again = call("administer", "do", "worker.join", code)
    assert again.exit_code == 0 and len(rows(site, WorkerToken)) == 1, "it is in already"


def machine_info() -> dict[str, Any]:
    return worker_info(name="gpu-1").model_dump(mode="json")


def ask(site: Site) -> dict[str, Any]:
    """The codes of a machine that asks."""
    told = site.client.post(JOIN_PATH, json={"worker": machine_info()})
    assert told.status_code == 201, told.text
    return told.json()


def token_of(site: Site, codes: dict[str, Any], **changes: Any) -> Response:
    """What the machine is answered when it asks for its token, after its request was changed."""
    with site.services.database.writing() as session:
        for asking in session.scalars(select(WorkerRequest)):
            for name, value in ({"asked_at": None} | changes).items():
                setattr(asking, name, value)
    return site.client.post(f"{JOIN_PATH}/token", json={"device_code": codes["device_code"]})


def let_in(site: Site, codes: dict[str, Any]) -> Person:
    admin = site.person("adele", is_site_admin=True)
    done = admin.call("POST", f"{REQUESTS}/{codes['user_code']}/acts/join")
    assert done.status_code == 200, done.text
    return admin


def refused(answer: Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


def test_a_token_is_collected_once_and_only_after_somebody_said_yes(site: Site) -> None:
    codes = ask(site)
    assert refused(token_of(site, codes)) == (400, "authorization_pending")
    assert refused(token_of(site, {"device_code": codes["user_code"]})) == (400, "expired_token")
    let_in(site, codes)
    token = token_of(site, codes).json()["access_token"]
    assert token.startswith("anyworker_")
    headers = {"authorization": f"Bearer {token}"}
    claim = {"worker": machine_info()}
    assert site.client.post("/api/worker/v1/claim", json=claim, headers=headers).status_code == 204
    assert refused(token_of(site, codes)) == (400, "expired_token")


def test_a_machine_that_asks_too_often_is_told_to_slow_down(site: Site) -> None:
    codes = ask(site)
    a_moment = timedelta(seconds=codes["interval"] + 1)
    assert refused(token_of(site, codes, asked_at=now())) == (400, "slow_down")
    assert refused(token_of(site, codes, asked_at=now() - a_moment)) == (400, "slow_down"), "it is longer now"
    assert refused(token_of(site, codes, asked_at=now() - 4 * a_moment)) == (400, "authorization_pending")


def test_codes_that_are_over_open_nothing_and_leave_no_token(site: Site) -> None:
    codes = ask(site)
    admin = let_in(site, codes)
    assert refused(token_of(site, codes, expires_at=now())) == (400, "expired_token")
    gone = admin.call("GET", f"{REQUESTS}/{codes['user_code']}")
    assert gone.status_code == 404 and "It lasts 10 minutes" in gone.json()["message"]
    with site.services.database.writing() as session:
        forget_old_requests(session)
    (token,) = rows(site, WorkerToken)
    assert token.revoked_at is not None and rows(site, WorkerRequest) == []


def test_a_token_that_was_revoked_meanwhile_is_not_given_out(site: Site) -> None:
    codes = ask(site)
    admin = let_in(site, codes)
    revoke = "/api/v1/admin/worker-tokens/gpu-1/acts/revoke"
    assert admin.call("POST", revoke).status_code == 200
    assert refused(token_of(site, codes)) == (400, "access_denied")


def test_codes_cannot_be_guessed_one_after_the_other(site: Site) -> None:
    admin = site.person("adele", is_site_admin=True)
    tried = [admin.call("GET", f"{REQUESTS}/BBBB-BBBB").status_code for _ in range(31)]
    assert tried == [404] * 30 + [429]
    for _ in range(20):
        ask(site)
    assert site.client.post(JOIN_PATH, json={"worker": machine_info()}).status_code == 429
