"""A second factor at log-in, and password or code again before what is dangerous."""

import re
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from pyotp.totp import TOTP
from sqlalchemy import select, update

from anyshot_core.client import Client, CodeNeeded
from anyshot_core.command import main
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.foundation.signing import Signer
from anyshot_platform.people.accounts import second_factor
from anyshot_platform.people.accounts.passwords import hash_password
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.people.users.models import ApiToken, LoginSession, User
from anyshot_starting_kit.cli.login import login
from tests.platform.core.races import AT_ONCE, at_once
from tests.platform.core.test_admission import served
from tests.platform.site import PASSWORD, SLUG, Person, Site

API = f"/api/v1/competitions/{SLUG}"
MOMENT = 1_800_000_015


@pytest.fixture(autouse=True)
def clock_of_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands still: no code grows old while a busy machine takes its time."""
    monkeypatch.setattr(second_factor, "time", SimpleNamespace(time=lambda: MOMENT))


def code_of(secret: str, steps: int = 0) -> str:
    """The code that an app shows, or showed so many steps ago."""
    return TOTP(secret).at(MOMENT + steps * second_factor.STEP)


def set_up(site: Site, **changes: Any) -> None:
    values = {**site.services.settings.model_dump(), **changes}
    object.__setattr__(site.services, "settings", PlatformSettings.model_validate(values))


def enrol(site: Site, person: Person) -> tuple[str, list[str]]:
    """Turn a second factor on with the code before last, so that the present one is unused; secret and codes."""
    made = second_factor.begin_enrolment(site.services.signer, "Site", person.username)
    early = code_of(made.secret, -1)
    with site.services.database.writing() as session:
        user = session.get_one(User, person.id)
        return made.secret, second_factor.turn_on(session, site.services.signer, user, made.sealed, early)


def form(site: Site, path: str, sent_to: str = "", **fields: str) -> Any:
    page = site.client.get(path)
    token = page.text.split('name="csrf_token" value="')[1].split('"')[0]
    headers = {"referer": f"http://testserver{path}", "accept": "text/html"}
    data = {"csrf_token": token, **fields}
    return site.client.post(sent_to or path, data=data, headers=headers, follow_redirects=False)


def in_browser(site: Site, person: Person) -> Any:
    site.client.cookies.clear()
    return form(site, "/login", username=person.username, password=PASSWORD)


def token_for(site: Site, person: Person, **more: str) -> Any:
    body = {"username": person.username, "password": PASSWORD, "organize": True, **more}
    return site.client.post("/api/v1/tokens/log-in", json=body)


def events(site: Site, person: Person) -> list[str]:
    with site.services.database.reading() as session:
        query = select(AuditEntry.action).where(AuditEntry.object_id == person.id).order_by(AuditEntry.id)
        return list(session.scalars(query))


def long_ago(site: Site) -> None:
    """Half an hour passes since everybody's last proof."""
    with site.services.database.writing() as session:
        for table in (LoginSession, ApiToken):
            session.execute(update(table).values(proved_at=now() - timedelta(minutes=30)))


@pytest.fixture
def alice(site: Site) -> Person:
    return site.person("alice", password=PASSWORD)


def test_it_is_set_up_in_the_browser_and_asked_at_log_in(site: Site, alice: Person) -> None:
    assert in_browser(site, alice).headers["location"] == "/"
    page = site.client.get("/account/second-factor").text
    assert "<svg" in page
    secret = re.findall(r"<code class=\"break\">(\w+)</code>", page)[0]
    sealed = page.split('name="sealed" value="')[1].split('"')[0]
    wrong = form(site, "/account/second-factor", sealed=sealed, code="000000")
    assert wrong.status_code == 422 and "code is wrong" in wrong.text
    early = code_of(secret, -1)
    done = form(site, "/account/second-factor", sealed=sealed, code=early)
    recovery = re.findall(r"<li>(\w{4}-\w{4}-\w{4}-\w{4})</li>", done.text)
    assert len(recovery) == second_factor.RECOVERY_CODES

    half = in_browser(site, alice)
    assert half.headers["location"].startswith("/login/code")
    assert site.client.get("/account", follow_redirects=False).status_code == 401  # not signed in
    assert form(site, "/login/code", code="123456").status_code == 401
    assert form(site, "/login/code", code=code_of(secret)).headers["location"] == "/"
    assert site.client.get("/account").status_code == 200

    in_browser(site, alice)
    assert form(site, "/login/code", code=recovery[0].upper()).status_code == 303
    in_browser(site, alice)
    assert form(site, "/login/code", code=recovery[0]).status_code == 401  # each works once
    site.client.cookies.clear()
    noted = events(site, alice)
    assert noted.count("account.log_in_failed") == 2
    assert {"account.second_factor_on", "account.recovery_code", "account.log_in"} <= set(noted)


def test_without_the_password_there_is_no_question_for_a_code(site: Site, alice: Person) -> None:
    secret, _ = enrol(site, alice)
    site.client.cookies.clear()
    answer = form(site, "/login/code", code=code_of(secret))
    assert answer.headers["location"] == "/login"
    in_browser(site, alice)
    with site.services.database.writing() as session:  # the password changes meanwhile
        session.get_one(User, alice.id).password_hash = "another"
    assert form(site, "/login/code", code=code_of(secret)).headers["location"] == "/login"
    site.client.cookies.clear()


def test_a_token_by_password_needs_the_code_too(site: Site, alice: Person) -> None:
    assert token_for(site, alice).status_code == 201
    secret, recovery = enrol(site, alice)
    assert token_for(site, alice).json()["error"] == "code_needed"
    assert token_for(site, alice, code="123456").json()["error"] == "wrong_code"
    code = code_of(secret)
    assert token_for(site, alice, code=code).status_code == 201
    assert token_for(site, alice, code=code).status_code == 401  # it was used
    assert token_for(site, alice, code=recovery[1]).status_code == 201
    assert token_for(site, alice, password="wrong").json()["error"] == "wrong_password"
    assert events(site, alice).count("account.log_in_failed") == 3


def test_of_eight_with_one_code_one_gets_in(postgres_site: Site) -> None:
    alice = postgres_site.person("alice", password=PASSWORD)
    secret, recovery = enrol(postgres_site, alice)
    for code in (code_of(secret), recovery[0]):

        def use(number: int, code: str = code) -> None:
            with postgres_site.services.database.writing() as session:
                user = session.get_one(User, alice.id)
                second_factor.use_code(session, postgres_site.services.signer, user, code)

        assert at_once(use, range(AT_ONCE)) == {"ok": 1, "WrongCode": AT_ONCE - 1}


def test_with_another_key_of_the_site_recovery_codes_let_in_and_the_app_is_set_up_anew(
    site: Site, alice: Person
) -> None:
    """`ANYSHOT_SECRET_KEY` is lost: nobody is logged out, codes of apps no longer fit; they were answered 500."""
    secret, recovery = enrol(site, alice)
    object.__setattr__(site.services, "signer", Signer("another key"))
    code = code_of(secret)
    assert token_for(site, alice, code=code).json()["error"] == "wrong_code"
    assert alice.call("POST", "/api/v1/me/proof", json={"proof": code}).json()["error"] == "wrong_code"
    in_browser(site, alice)
    refused = form(site, "/login/code", code=code)
    assert refused.status_code == 401 and "The code is wrong" in refused.text
    assert form(site, "/login/code", code=recovery[0]).headers["location"] == "/"
    form(site, "/account/second-factor", "/account/second-factor/off")
    fresh, _ = enrol(site, alice)
    in_browser(site, alice)
    assert form(site, "/login/code", code=code_of(fresh)).headers["location"] == "/"
    site.client.cookies.clear()


def test_codes_are_not_guessed(site: Site) -> None:
    alice = site.person("alice", password=PASSWORD)
    enrol(site, alice)
    in_browser(site, alice)
    limit = site.services.settings.budgets["proofs"].limit
    statuses = [form(site, "/login/code", code=f"{n:06}").status_code for n in range(limit + 1)]
    site.client.cookies.clear()
    assert statuses == [401] * limit + [429]


def test_the_secret_is_not_in_the_database(sqlite_site: Site) -> None:
    site = sqlite_site
    alice = site.person("alice")
    secret, recovery = enrol(site, alice)
    home = site.services.settings.home
    kept = b"".join(path.read_bytes() for path in home.glob("anyshot.sqlite3*"))
    assert alice.username.encode() in kept
    assert not [word for word in (secret, *recovery) if word.encode() in kept]


DANGEROUS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", f"{API}/manage/acts/delete", {"confirm": SLUG}),
    ("POST", "/api/v1/pools/small-train/acts/publish", {"confirm": "small-train"}),
]


@pytest.mark.parametrize(("method", "path", "body"), DANGEROUS, ids=lambda value: str(value)[:40])
def test_dangerous_acts_ask_again_over_json(site: Site, method: str, path: str, body: dict[str, Any]) -> None:
    owner = site.owner()
    with site.services.database.writing() as session:
        session.get_one(User, owner.id).password_hash = hash_password(PASSWORD)
    long_ago(site)
    refused = owner.call(method, path, json=body)
    assert (refused.status_code, refused.json()["error"]) == (403, "prove"), refused.text
    assert "/me/proof" in refused.json()["message"]
    assert owner.call("POST", "/api/v1/me/proof", json={"proof": "wrong"}).status_code == 401
    assert owner.call(method, path, json=body).status_code == 403
    assert owner.call("POST", "/api/v1/me/proof", json={"proof": PASSWORD}).json() == {"minutes": 15.0}
    done = owner.call(method, path, json=body)
    assert done.status_code < 300 or done.json()["error"] in ("act_refused", "confirm"), done.text
    assert "account.proof_failed" in events(site, owner)


def test_what_is_not_dangerous_asks_nobody(site: Site) -> None:
    owner = site.owner()
    long_ago(site)
    page = {"title": "A page", "body": "text"}
    assert owner.call("POST", f"{API}/manage/pages", json=page).status_code == 201


def test_with_a_second_factor_the_password_proves_nothing(site: Site, alice: Person) -> None:
    secret, _ = enrol(site, alice)
    assert alice.call("POST", "/api/v1/me/proof", json={"proof": PASSWORD}).json()["error"] == "wrong_code"
    code = code_of(secret)
    assert alice.call("POST", "/api/v1/me/proof", json={"proof": code}).status_code == 200


def test_an_administrator_takes_a_lost_factor_off(site: Site, alice: Person) -> None:
    enrol(site, alice)
    rosa = site.person("rosa", is_site_admin=True)
    site.client.cookies.clear()
    rosa.call(
        "POST",
        f"/admin/users/{alice.id}/reset-second-factor",
        data={"confirm": "alice"},
        follow_redirects=False,
    )
    assert alice.call("GET", "/api/v1/me").status_code == 401  # tokens and sessions have ended
    assert token_for(site, alice).status_code == 201
    assert {"account.second_factor_off", "user.reset-second-factor"} <= set(events(site, alice))


def test_a_site_can_demand_it_of_organizers(site: Site) -> None:
    owner, oscar = site.owner(), site.member("oscar", Role.ORGANIZER)
    petra = site.member("petra")
    set_up(site, second_factor="organizers")
    for person in (owner, oscar):
        refused = person.call("GET", f"{API}/manage/people")
        assert (refused.status_code, refused.json()["error"]) == (403, "second_factor")
        assert "second factor" in refused.json()["message"]
    assert petra.call("GET", API).status_code == oscar.call("GET", API).status_code == 200
    enrol(site, oscar)
    assert oscar.call("GET", f"{API}/manage/people").status_code == 200
    rosa = site.person("rosa", is_site_admin=True)
    assert rosa.call("GET", "/admin", headers={"accept": "application/json"}).status_code == 403


def test_a_site_can_demand_it_of_everyone(site: Site, alice: Person) -> None:
    set_up(site, second_factor="everyone")
    assert alice.call("GET", "/api/v1/me").json()["error"] == "second_factor"
    in_browser(site, alice)
    assert site.client.get("/account/second-factor").status_code == 200
    assert site.client.get("/submissions").status_code == 403
    site.client.cookies.clear()
    enrol(site, alice)
    assert alice.call("GET", "/api/v1/me").status_code == 200


def test_the_command_line_asks_for_the_code(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    alice = site.person("alice", password=PASSWORD, is_site_admin=True)
    secret, recovery = enrol(site, alice)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with served(site) as address:
        with Client(address) as client, pytest.raises(CodeNeeded):
            client.log_in("alice", PASSWORD)
        arguments = ["--server", address, "--username", "alice", "--password", PASSWORD, "--organize"]
        done = CliRunner().invoke(login, arguments, input=f"{recovery[0]}\n")
        assert done.exit_code == 0 and "Logged in" in done.output, done.output
        with Client(address) as client:
            token = client.log_in("alice", PASSWORD, organize=True, code=recovery[1])
        long_ago(site)
        asked: list[str] = []
        with Client(address, token) as client:
            client.ask_for_proof = lambda: asked.append("asked") or code_of(secret)
            client._ask("POST", f"/competitions/{SLUG}/manage/acts/delete", json={"confirm": SLUG})
        assert asked == ["asked"]


def test_a_file_with_secrets_is_written_once_the_password_was_said_again(site: Site, tmp_path: Path) -> None:
    """Fifteen minutes after the log-in it stopped with advice for programs, and never asked."""
    owner = site.owner()
    with site.services.database.writing() as session:
        session.get_one(User, owner.id).password_hash = hash_password(PASSWORD)
    long_ago(site)
    with served(site) as address:
        arguments = [
            "organize",
            "file",
            "export",
            SLUG,
            str(tmp_path / "file.zip"),
            "--with-seeds",
            "--yes",
            SLUG,
        ]
        environment = {"ANYSHOT_SERVER": address, "ANYSHOT_TOKEN": owner.token}
        done = CliRunner().invoke(main, arguments, input=f"{PASSWORD}\n", env=environment)
    assert done.exit_code == 0 and "needs your password again" in done.output, done.output
    assert (tmp_path / "file.zip").read_bytes().startswith(b"PK")
