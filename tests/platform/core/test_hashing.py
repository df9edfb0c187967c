"""Passwords are hashed outside of transactions: with SQLite, others write meanwhile."""

import sqlite3
from typing import Any

import pytest
from argon2 import PasswordHasher

from anyshot_platform.people.accounts import passwords, service
from anyshot_platform.people.users.models import User
from anyshot_platform.site.users.reset_pages import PURPOSE
from tests.platform.core.test_second_factor import form, in_browser
from tests.platform.site import PASSWORD, Person, Site

NEW = "another long passphrase"


class WhileOthersWrite:
    """Argon2, during which somebody else writes to the database."""

    def __init__(self, site: Site) -> None:
        self.file = site.services.settings.home / "anyshot.sqlite3"
        self.hasher, self.times = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1), 0

    def hash(self, *given: Any) -> str:
        self._write()
        return self.hasher.hash(*given)

    def verify(self, *given: Any) -> bool:
        self._write()
        return self.hasher.verify(*given)

    def check_needs_rehash(self, stored: str) -> bool:
        return self.hasher.check_needs_rehash(stored)

    def _write(self) -> None:
        self.times += 1
        connection = sqlite3.connect(self.file, timeout=3, isolation_level=None)
        try:
            connection.execute("BEGIN IMMEDIATE")  # raises where the one who hashes holds the lock
            connection.execute("ROLLBACK")
        finally:
            connection.close()


@pytest.fixture
def alice(sqlite_site: Site) -> Person:
    return sqlite_site.person("alice", password=PASSWORD)


@pytest.fixture
def hasher(sqlite_site: Site, alice: Person, monkeypatch: pytest.MonkeyPatch) -> WhileOthersWrite:
    made = WhileOthersWrite(sqlite_site)
    monkeypatch.setattr(passwords, "_hasher", made)
    with sqlite_site.services.database.writing() as session:
        session.get_one(User, alice.id).password_hash = made.hasher.hash(PASSWORD)
    return made


def sign_up(site: Site, alice: Person) -> Any:
    return form(site, "/sign-up", username="nina", email="nina@example.org", password=PASSWORD)


def sign_up_by_program(site: Site, alice: Person) -> Any:
    body = {"username": "nina", "email": "nina@example.org", "password": PASSWORD}
    return site.client.post("/api/v1/users", json=body)


def log_in(site: Site, alice: Person) -> Any:
    return in_browser(site, alice)


def log_in_wrongly(site: Site, alice: Person) -> Any:
    return form(site, "/login", username="nobody", password=PASSWORD)


def log_in_by_program(site: Site, alice: Person) -> Any:
    return site.client.post("/api/v1/tokens/log-in", json={"username": "alice", "password": PASSWORD})


def prove(site: Site, alice: Person) -> Any:
    return alice.call("POST", "/api/v1/me/proof", json={"proof": PASSWORD})


def change(site: Site, alice: Person) -> Any:
    in_browser(site, alice)
    return form(site, "/account/security", "/account/security/password", old=PASSWORD, password=NEW)


def reset(site: Site, alice: Person) -> Any:
    with site.services.database.writing() as session:
        user = session.get_one(User, alice.id)
        secret = service.issue_one_time_token(session, user, PURPOSE, hours=1)
    return form(site, f"/reset/{secret}", password=NEW)


def delete(site: Site, alice: Person) -> Any:
    in_browser(site, alice)
    return form(site, "/account/delete", confirm_name="alice", password=PASSWORD)


ACTS = {
    sign_up: 303,
    sign_up_by_program: 201,
    log_in: 303,
    log_in_wrongly: 401,
    log_in_by_program: 201,
    prove: 200,
    change: 303,
    reset: 303,
    delete: 303,
}


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
def test_others_write_while_a_password_is_hashed(
    sqlite_site: Site, alice: Person, hasher: WhileOthersWrite, act: Any
) -> None:
    answered = act(sqlite_site, alice)
    assert answered.status_code == ACTS[act], answered.text[-500:]
    assert hasher.times >= 1
    sqlite_site.client.cookies.clear()
