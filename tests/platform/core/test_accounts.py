"""Passwords, cookies, CSRF, rate limits."""

import re

import pytest
from sqlalchemy import select

from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.people.accounts import service
from anyshot_platform.people.accounts.actions.erasing import erase_user
from anyshot_platform.people.accounts.passwords import check_password
from anyshot_platform.people.notifications.models import Mute, NotificationChoice
from anyshot_platform.people.notifications.service import choose, mute
from anyshot_platform.people.rate_limits.counting import count_hit
from anyshot_platform.people.users.models import ApiToken, LoginSession, User
from anyshot_platform.site.users.pages import safe_next
from tests.platform.site import PASSWORD, Site

BROWSER = {"accept": "text/html"}


def token_on(page: str) -> str:
    found = re.search(r'name="csrf_token"[^>]*value="([0-9a-f]+)"', page)
    assert found is not None
    return found[1]


def log_in(site: Site, username: str) -> None:
    with site.services.database.writing() as session:
        service.create_user(session, username=username, email=f"{username}@example.org", password=PASSWORD)
    page = site.client.get("/login", headers=BROWSER)
    form = {"csrf_token": token_on(page.text), "username": username, "password": PASSWORD}
    assert site.client.post("/login", data=form, headers=BROWSER, follow_redirects=False).status_code == 303


def test_log_in_and_out_with_a_browser(site: Site) -> None:
    log_in(site, "alice")
    cookie = next(c for c in site.client.cookies.jar if c.name == "anyshot_session")
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert site.client.get("/api/v1/me").json()["username"] == "alice"
    with site.services.database.reading() as session:
        stored = session.scalars(select(LoginSession)).one()
    assert cookie.value not in (stored.digest, stored.id)
    page = site.client.get("/", headers=BROWSER)
    out = site.client.post("/logout", data={"csrf_token": token_on(page.text)}, follow_redirects=False)
    assert out.status_code == 303
    site.client.cookies.set("anyshot_session", str(cookie.value))
    assert (
        site.client.get("/api/v1/me").status_code == 401
    )  # ended on our side, not only forgotten by the browser


def test_a_cookie_alone_changes_nothing(site: Site) -> None:
    log_in(site, "alice")
    forged = [
        site.client.patch("/api/v1/me", json={"about": "x"}),
        site.client.post("/api/v1/tokens", json={"name": "x", "scopes": ["read"]}),
        site.client.post("/logout", data={"csrf_token": "0" * 64}),
        site.client.post("/logout", content=b"", headers={"content-type": "text/plain"}),
    ]
    assert {(answer.status_code, answer.json()["error"]) for answer in forged} == {(403, "csrf_failed")}
    page = site.client.get("/", headers=BROWSER)
    headers = {"x-csrf-token": token_on(page.text)}
    assert site.client.patch("/api/v1/me", json={"about": "x"}, headers=headers).status_code == 200


def test_the_token_of_another_session_is_refused(site: Site) -> None:
    """A visitor's as well, and that of somebody else who is logged in: an attacker has both."""
    foreign = [token_on(site.client.get("/login", headers=BROWSER).text)]
    log_in(site, "mallory")
    foreign.append(token_on(site.client.get("/", headers=BROWSER).text))
    site.client.cookies.clear()
    log_in(site, "alice")
    for token in foreign:
        answer = site.client.patch("/api/v1/me", json={"about": "x"}, headers={"x-csrf-token": token})
        assert (answer.status_code, answer.json()["error"]) == (403, "csrf_failed")
        assert site.client.post("/logout", data={"csrf_token": token}).status_code == 403


def test_a_log_in_form_from_elsewhere_is_refused(site: Site) -> None:
    form = {"username": "mallory", "password": PASSWORD}
    assert site.client.post("/login", data=form).status_code == 403


@pytest.mark.parametrize(
    "target",
    ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/a\nb", ""],
)
def test_log_in_does_not_lead_elsewhere(target: str) -> None:
    assert safe_next(target) == "/"


@pytest.mark.parametrize("password", ["short", "1234567890", "aaaaaaaaaaaa", "alice12345", "x" * 300])
def test_weak_passwords_are_refused(password: str) -> None:
    with pytest.raises(PlatformError):
        check_password(password, "alice")


def test_a_changed_password_signs_others_out(site: Site) -> None:
    database = site.services.database
    with database.writing() as session:
        user = service.create_user(session, username="alice", email="a@example.org", password=PASSWORD)
        kept, _ = (service.begin_session(session, user, user_agent="", days=1) for _ in range(2))
    keep = kept.session.id
    known = service.require_password(database, user.id, PASSWORD)
    service.change_password(database, known, new="another passphrase", keep_session=keep)
    with database.reading() as session:
        assert [row.id for row in service.list_sessions(session, user.id)] == [keep]
    with pytest.raises(service.WrongPassword):
        service.authenticate(database, "alice", PASSWORD)


def test_a_log_in_that_began_with_the_old_password_does_not_outlive_it(site: Site) -> None:
    database = site.services.database
    site.person("alice", password=PASSWORD)
    known = service.authenticate(database, "alice", PASSWORD)
    service.change_password(database, known, new="another passphrase")
    with database.writing() as session, pytest.raises(service.WrongPassword):
        service.as_then(session, known)


def test_a_link_works_once(site: Site) -> None:
    with site.services.database.writing() as session:
        user = service.create_user(session, username="alice", email="a@example.org", password=None)
        old = service.issue_one_time_token(session, user, "reset", hours=1)
        new = service.issue_one_time_token(session, user, "reset", hours=1)
        for secret in (old, "guess"):
            with pytest.raises(PlatformError):
                service.redeem_one_time_token(session, secret, "reset")
        with pytest.raises(PlatformError):
            service.redeem_one_time_token(session, new, "verify")
        assert service.redeem_one_time_token(session, new, "reset")[0].id == user.id
        with pytest.raises(PlatformError):
            service.redeem_one_time_token(session, new, "reset")


def test_a_link_ends(site: Site) -> None:
    with site.services.database.writing() as session:
        user = service.create_user(session, username="alice", email="a@example.org", password=None)
        late = service.issue_one_time_token(session, user, "reset", hours=-0.01)
        with pytest.raises(PlatformError, match="expired"):
            service.redeem_one_time_token(session, late, "reset")


def test_an_erased_account_leaves_a_pseudonym(site: Site) -> None:
    """Names of tokens, browsers and times of log-ins stayed for ever, though they are said to be erased at once."""
    person, other = site.person("alice"), site.person("bob")
    with site.services.database.writing() as session:
        competition = site.competition(session).id
        for who in (person, other):
            service.begin_session(session, session.get_one(User, who.id), user_agent="a browser", days=1)
            choose(session, who.id, "announcement", page=True, email=False)
            mute(session, who.id, competition, muted=True)
        user = session.get_one(User, person.id)
        user.time_zone = "Asia/Tokyo"
    with site.services.database.writing() as session:
        erase_user(session, session.get_one(User, person.id))
    with site.services.database.reading() as session:
        user = session.get_one(User, person.id)
        assert user.username.startswith("deleted-") and user.email is None
        assert user.time_zone == "UTC"
        for table in (ApiToken, LoginSession, NotificationChoice, Mute):
            assert session.scalars(select(table.user_id)).all() == [other.id], table.__tablename__
    assert person.call("GET", "/api/v1/me").status_code == 401


def test_rate_limits_count_over_processes(site: Site) -> None:
    def hit(who: str) -> int:
        with site.services.database.writing() as session:
            return count_hit(session, "login", who, limit=3, seconds=3600)

    assert [hit(who) for who in ("alice", "alice", "alice", "bob")] == [0] * 4
    assert 0 < hit("alice") <= 3600
