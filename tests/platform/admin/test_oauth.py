"""Log-in by another site, against a server that plays it."""

import json
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from sqlalchemy import func, select

from anyshot_platform.app import create_app
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.services import Services
from anyshot_platform.people.accounts import oauth
from anyshot_platform.people.accounts.actions.erasing import erase_user
from anyshot_platform.people.accounts.service import begin_session, create_user
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.people.users.models import OAuthIdentity, User

PASSWORD = "a long passphrase of ann"


class FakeGitHub(BaseHTTPRequestHandler):
    """Gives a token for the code `good`, and says who it belongs to."""

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        good = (
            form["code"] == ["good"]
            and len(form["code_verifier"][0]) == 48
            and form["client_secret"] == ["s3cret"]
        )
        self._answer(
            200 if good else 400, {"access_token": "t", "token_type": "bearer"} if good else {"error": "bad"}
        )

    def do_GET(self) -> None:
        assert self.headers["authorization"] == "Bearer t"
        self._answer(200, {"id": 583231, "login": "octo cat"})

    def _answer(self, status: int, body: dict[str, object]) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def client(services: Services, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """The site, with GitHub set up and played by a server of the test."""
    server = HTTPServer(("127.0.0.1", 0), FakeGitHub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    fake = oauth.Provider(
        "github",
        "GitHub",
        f"{address}/authorize",
        f"{address}/token",
        "read:user",
        f"{address}/user",
        "id",
        "login",
    )
    monkeypatch.setitem(oauth.PROVIDERS, "github", fake)
    settings = services.settings.model_validate(
        {
            **services.settings.model_dump(),
            "github_client_id": "us",
            "github_client_secret": "s3cret",
        }
    )
    services = replace(services, settings=settings)
    with TestClient(create_app(settings, services), follow_redirects=False) as made:
        yield made
    server.shutdown()
    server.server_close()
    thread.join()


def begin(client: TestClient) -> str:
    """Start a log-in; the state that the provider would send back."""
    answer = client.get("/oauth/github/start", params={"next": "/competitions"})
    assert answer.status_code == 303
    query = parse_qs(urlsplit(answer.headers["location"]).query)
    assert query["code_challenge_method"] == ["S256"]
    assert query["redirect_uri"] == ["http://testserver/oauth/github/callback"]
    return query["state"][0]


def test_the_first_log_in_makes_an_account_and_the_second_finds_it(
    client: TestClient, services: Services
) -> None:
    assert "Continue with GitHub" in client.get("/login").text
    assert "ORCID" not in client.get("/login").text
    for _ in range(2):
        state = begin(client)
        answer = client.get("/oauth/github/callback", params={"code": "good", "state": state})
        assert (answer.status_code, answer.headers["location"]) == (303, "/competitions")
        assert "anyshot_session" in answer.cookies
        client.cookies.delete("anyshot_session")
    with services.database.reading() as session:
        assert session.scalars(select(User)).one().username == "octo-cat"
        assert session.scalar(select(func.count(OAuthIdentity.id))) == 1


def test_a_deleted_account_leaves_its_log_in_to_a_new_one(client: TestClient, services: Services) -> None:
    """“This account cannot log in.”, said the site for ever to who had deleted it."""

    def log_in() -> str:
        answer = client.get("/oauth/github/callback", params={"code": "good", "state": begin(client)})
        assert answer.status_code == 303, answer.text
        return client.get("/api/v1/me").json()["id"]

    first = log_in()
    with services.database.writing() as session:
        erase_user(session, session.get_one(User, first))
    assert client.get("/api/v1/me").status_code == 401
    second = log_in()
    with services.database.reading() as session:
        assert second != first and session.get_one(User, second).username == "octo-cat"
        assert session.scalars(select(OAuthIdentity.user_id)).all() == [second]


@pytest.mark.parametrize(
    ("code", "state", "cookie"),
    [("bad", None, True), ("good", "another state", True), ("good", None, False)],
)
def test_what_was_not_begun_here_or_not_confirmed_signs_nobody_in(
    client: TestClient, services: Services, code: str, state: str | None, cookie: bool
) -> None:
    right = begin(client)
    if not cookie:
        client.cookies.clear()
    answer = client.get("/oauth/github/callback", params={"code": code, "state": state or right})
    assert answer.status_code == 403
    assert "anyshot_session" not in answer.cookies
    with services.database.reading() as session:
        assert session.scalar(select(func.count(User.id))) == 0


def test_a_provider_that_does_not_answer_signs_nobody_in_and_is_named(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = begin(client)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # nobody listens there
        dead = replace(
            oauth.PROVIDERS["github"], token_url=f"http://127.0.0.1:{closed.getsockname()[1]}/token"
        )
        monkeypatch.setitem(oauth.PROVIDERS, "github", dead)
        answer = client.get("/oauth/github/callback", params={"code": "good", "state": right})
    assert answer.status_code == 403 and "GitHub did not confirm the log-in" in answer.text


def test_a_provider_that_is_not_set_up_is_not_there(client: TestClient) -> None:
    assert client.get("/oauth/orcid/start").status_code == 404
    assert client.get("/oauth/elsewhere/start").status_code == 404


def signed_in(
    client: TestClient, services: Services, *, password: str | None = PASSWORD, proved: int = 0
) -> str:
    """An account whose browser the client is, with a proof of so many minutes ago; its id."""
    with services.database.writing() as session:
        user = create_user(session, username="ann", email="ann@example.org", password=password)
        new = begin_session(session, user, user_agent="", days=1)
        new.session.proved_at = now() - timedelta(minutes=proved)
    client.cookies.set("anyshot_session", new.secret)
    return user.id


def come_back(client: TestClient) -> Response:
    """Log in by the other site."""
    return client.get("/oauth/github/callback", params={"code": "good", "state": begin(client)})


def remove_the_only_one(client: TestClient) -> Response:
    """Press the button of the page."""
    page = client.get("/account/security").text
    token = page.split('name="csrf_token" value="')[1].split('"')[0]
    (place,) = re.findall(r'action="(/account/security/log-ins/[^"]+/remove)"', page)
    return client.post(place, data={"csrf_token": token})


def test_a_stolen_session_makes_itself_no_log_in_that_outlives_it(
    client: TestClient, services: Services
) -> None:
    ann = signed_in(client, services, proved=60)
    refused = come_back(client)
    assert refused.headers["location"] == "/account/prove?next=/account/security"
    assert "anyshot_session" not in refused.cookies
    with services.database.reading() as session:
        assert session.scalars(select(OAuthIdentity)).all() == []
        noted = session.scalars(select(AuditEntry.action).where(AuditEntry.object_id == ann)).all()
        assert "account.log_in_added" not in noted
    client.cookies.delete("anyshot_session")
    assert come_back(client).status_code == 303
    with services.database.reading() as session:
        assert session.scalars(select(OAuthIdentity.user_id)).one() != ann, "a stranger has their own account"


def test_a_log_in_of_another_site_is_added_shown_and_removed(client: TestClient, services: Services) -> None:
    ann = signed_in(client, services)
    assert "No account of another site logs in to yours." in client.get("/account/security").text
    assert come_back(client).status_code == 303
    page = " ".join(client.get("/account/security").text.split())
    assert "GitHub <span" in page and "Add GitHub" in page
    assert remove_the_only_one(client).status_code == 303
    assert "No account of another site logs in to yours." in client.get("/account/security").text
    with services.database.reading() as session:
        assert session.scalars(select(OAuthIdentity)).all() == []
        noted = session.scalars(select(AuditEntry.action).where(AuditEntry.object_id == ann)).all()
        assert {"account.log_in_added", "account.log_in_removed"} <= set(noted)


def test_the_only_way_into_an_account_stays(client: TestClient, services: Services) -> None:
    signed_in(client, services, password=None)
    assert come_back(client).status_code == 303
    remove_the_only_one(client)
    assert (
        "It is the only way into your account: set a password first." in client.get("/account/security").text
    )
    with services.database.reading() as session:
        assert session.scalars(select(OAuthIdentity)).one()


def test_a_stolen_session_gives_an_account_without_a_password_none(
    client: TestClient, services: Services
) -> None:
    ann = signed_in(client, services, password=None, proved=60)
    token = client.get("/account/security").text.split('name="csrf_token" value="')[1].split('"')[0]
    sent = {"csrf_token": token, "password": "mallory's long passphrase"}
    answer = client.post("/account/security/password", data=sent, headers={"accept": "text/html"})
    assert answer.headers["location"].startswith("/account/prove")
    with services.database.reading() as session:
        assert session.get_one(User, ann).password_hash is None


class FakeOrcid(FakeGitHub):
    """Says with the token itself who it belongs to; there is no address to ask afterwards."""

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        if form["code"] == ["nobody"]:
            self._answer(200, {"access_token": "t", "token_type": "bearer", "name": "No Number"})
            return
        said: dict[str, object] = {
            "access_token": "t",
            "token_type": "bearer",
            "orcid": "0000-0002-1825-0097",
            "name": "Josiah Carberry",
        }
        self._answer(
            200 if form["code"] == ["good"] else 400, said if form["code"] == ["good"] else {"error": "bad"}
        )

    def do_GET(self) -> None:
        raise AssertionError("ORCID is not asked a second time")


def test_orcid_says_who_it_is_with_the_token(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    server = HTTPServer(("127.0.0.1", 0), FakeOrcid)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    fake = replace(
        oauth.PROVIDERS["orcid"], authorize_url=f"{address}/authorize", token_url=f"{address}/token"
    )
    monkeypatch.setitem(oauth.PROVIDERS, "orcid", fake)
    settings = services.settings.model_validate(
        {**services.settings.model_dump(), "orcid_client_id": "APP-1", "orcid_client_secret": "s3cret"}
    )
    services = replace(services, settings=settings)
    with TestClient(create_app(settings, services), follow_redirects=False) as client:
        assert "Continue with ORCID" in client.get("/login").text
        for code, status in (("nobody", 403), ("good", 303), ("good", 303)):
            started = client.get("/oauth/orcid/start", params={"next": "/competitions"})
            query = parse_qs(urlsplit(started.headers["location"]).query)
            assert (query["scope"], query["client_id"]) == (["/authenticate"], ["APP-1"])
            answer = client.get("/oauth/orcid/callback", params={"code": code, "state": query["state"][0]})
            assert answer.status_code == status, answer.text
            client.cookies.delete("anyshot_session")
    with services.database.reading() as session:
        identity = session.scalars(select(OAuthIdentity)).one()
        assert (identity.provider, identity.subject) == ("orcid", "0000-0002-1825-0097")
        assert session.get_one(User, identity.user_id).username == "Josiah-Carberry"
    server.shutdown()
    server.server_close()
    thread.join()
