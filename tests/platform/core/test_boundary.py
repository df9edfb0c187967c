"""What no database holds is refused with words, on both; of several at once, one gets what is there once."""

import itertools
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.service import join
from anyshot_platform.contest.competitions.states import MemberStatus, Registration
from anyshot_platform.people.accounts import service
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import ApiToken, User
from tests.platform.core.races import AT_ONCE, at_once
from tests.platform.core.test_budgets import allow
from tests.platform.site import PASSWORD, SLUG, Site


@pytest.mark.parametrize(
    "path", ["/competitions?q=%00", "/competitions/%00", "/api/v1/competitions?search=%00"]
)
def test_a_nul_in_an_address_is_refused_with_words(site: Site, path: str) -> None:
    answered = site.client.get(path, headers={"accept": "application/json"})
    assert answered.status_code == 422 and "NUL" in answered.json()["message"]


def test_a_nul_in_a_form_or_in_json_is_refused(site: Site) -> None:
    alice = site.person("alice")
    sent = alice.call("POST", "/account", data={"display_name": "a\x00b", "time_zone": "UTC"})
    assert sent.status_code == 422
    for text in ("a\x00b", "\ud800"):
        changed = alice.call(
            "PATCH",
            "/api/v1/me",
            content=(
                '{"display_name": "' + text.encode("unicode_escape").decode().replace("\\x", "\\u00") + '"}'
            ),
            headers={"content-type": "application/json"},
        )
        assert changed.status_code == 422, changed.text


def test_a_text_beyond_its_column_is_refused_with_its_name(site: Site) -> None:
    from anyshot_platform.foundation.errors import Invalid

    with site.services.database.writing() as session:
        session.add(Team(competition_id=site.competition(session).id, name="x" * 300, name_key="y"))
        with pytest.raises(Invalid, match="name"):
            session.flush()
        session.rollback()


def test_an_odd_last_event_id_is_no_error(site: Site) -> None:
    alice, worker = site.member("alice"), site.worker()
    shown = alice.submit().json()
    job = worker.claim()
    assert job is not None
    worker.complete(job, 0.5)
    for prefix, header in itertools.product(("", "/api/v1"), ("²", "9" * 19, "x")):
        path = f"{prefix}/submissions/{shown['id']}/stream"
        headers = {"last-event-id": header.encode("latin-1")}
        assert alice.call("GET", path, headers=headers).status_code == 200


def test_a_reset_link_sets_one_password(postgres_site: Site) -> None:
    site = postgres_site
    person = site.person("alice")
    with site.services.database.writing() as session:
        secret = service.issue_one_time_token(
            session, session.get_one(User, person.id), "password_reset", hours=1
        )

    def redeem(number: int) -> None:
        with site.services.database.writing() as session:
            service.redeem_one_time_token(session, secret, "password_reset")

    assert at_once(redeem, list(range(AT_ONCE))) == {"ok": 1, "NotFound": AT_ONCE - 1}


def test_two_who_sign_up_by_one_name_at_once_are_told_409(postgres_site: Site) -> None:
    def sign_up(number: int) -> int:
        body = {"username": "same", "email": f"same{number}@example.org", "password": PASSWORD}
        return postgres_site.client.post("/api/v1/users", json=body).status_code

    with ThreadPoolExecutor(AT_ONCE) as threads:
        statuses = Counter(threads.map(sign_up, range(AT_ONCE)))
    assert statuses == {201: 1, 409: AT_ONCE - 1}


def test_who_was_rejected_stays_out(site: Site) -> None:
    alice, owner = site.person("alice"), site.owner()
    with site.services.database.writing() as session:
        site.competition(session).registration = Registration.APPROVAL
    path = f"/api/v1/competitions/{SLUG}"
    assert alice.call("POST", f"{path}/join", json={}).status_code in (200, 201)
    with site.services.database.reading() as session:
        row = session.scalars(select(Membership.id).where(Membership.user_id == alice.id)).one()
    reject = owner.call("POST", f"{path}/manage/people/{row}/acts/reject", json={"reason": "not a student"})
    assert reject.status_code == 200, reject.text
    with site.services.database.writing() as session:
        site.competition(session).registration = Registration.OPEN
    refused = alice.call("POST", f"{path}/join", json={})
    assert refused.status_code in (403, 409) and "declined" in refused.json()["message"]


def test_who_left_cannot_come_back_through_a_closed_door(site: Site) -> None:
    alice = site.member("alice")
    with site.services.database.writing() as session:
        competition = site.competition(session)
        competition.registration = Registration.CLOSED
        row = session.scalars(select(Membership).where(Membership.user_id == alice.id)).one()
        row.status = MemberStatus.WITHDRAWN
        session.flush()
        with pytest.raises(Exception, match="closed"):
            join(session, competition, session.get_one(User, alice.id), accepts_terms=True)


def test_tokens_end_and_die_with_the_password(site: Site) -> None:
    alice = site.person("alice")
    assert alice.call("GET", "/api/v1/tokens").json()[0]["expires_at"] is not None
    database = site.services.database
    known = service.require_password(database, alice.id, "")
    service.change_password(database, known, new="another long passphrase")
    assert alice.call("GET", "/api/v1/me").status_code == 401


def test_a_token_is_worthless_after_its_end(site: Site) -> None:
    alice = site.person("alice")
    assert alice.call("GET", "/api/v1/me").status_code == 200
    with site.services.database.writing() as session:
        token = session.scalars(select(ApiToken).where(ApiToken.user_id == alice.id)).one()
        token.expires_at = token.created_at
    assert alice.call("GET", "/api/v1/me").status_code == 401


def limited(site: Site, limit: int) -> None:
    allow(site, log_ins=limit)


def log_in(site: Site, name: str, password: str = "wrong") -> int:
    return site.client.post(
        "/api/v1/tokens/log-in", json={"username": name, "password": password}
    ).status_code


def test_blanks_and_the_address_make_no_new_account_of_a_name(site: Site) -> None:
    site.person("petra", password=PASSWORD)
    limited(site, 3)
    names = ["petra", "petra ", " PETRA", "petra\t", "petra@example.org", "Petra"]
    assert [log_in(site, name) for name in names] == [401] * 3 + [429] * 3


def test_one_address_cannot_spray_over_many_names(site: Site) -> None:
    limited(site, 2)
    statuses = [log_in(site, f"name{number}") for number in range(12)]
    assert statuses == [401] * 10 + [429] * 2


def test_many_addresses_cannot_guess_one_account(site: Site) -> None:
    site.person("petra", password=PASSWORD)
    limited(site, 1)
    guess = {"username": "petra", "password": "wrong"}
    machines = [TestClient(site.app, client=(f"10.0.0.{number}", 1)) for number in range(12)]
    statuses = [one.post("/api/v1/tokens/log-in", json=guess).status_code for one in machines]
    assert statuses == [401] * 10 + [429] * 2


def test_guesses_of_others_lock_no_owner_out(site: Site) -> None:
    site.person("petra", password=PASSWORD)
    form = {"username": "petra", "password": PASSWORD}

    def from_the_page() -> int:
        page = site.client.get("/login").text
        token = page.split('name="csrf_token" value="')[1].split('"')[0]
        return site.client.post(
            "/login", data={**form, "csrf_token": token}, follow_redirects=False
        ).status_code

    limited(site, 3)
    assert from_the_page() == 303
    site.client.cookies.delete("anyshot_session")
    device = site.client.cookies.get("anyshot_device")
    site.client.cookies.delete("anyshot_device")
    assert [log_in(site, "petra") for _ in range(5)][-1] == 429
    site.client.cookies.set("anyshot_device", device or "", path="/login")
    assert from_the_page() == 303
