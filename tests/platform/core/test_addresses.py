"""Whose an e-mail address is: told to nobody but its owner, and owned by whoever opened the link."""

import re
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.people.notifications.models import Email
from anyshot_platform.people.users.models import LoginSession
from tests.platform.site import PASSWORD, SLUG, Site

KNOWN, FRESH = "bob@university.example", "nobody@university.example"


@pytest.fixture
def mailing_site(site: Site) -> Site:
    """A site that asks for confirmation, with an account `bob` whose address is confirmed."""
    values = {**site.services.settings.model_dump(), "confirm_addresses": True}
    object.__setattr__(site.services, "settings", PlatformSettings.model_validate(values))
    sign_up(site, "bob", KNOWN)
    (link,) = mails(site, KNOWN)
    assert open_link(site, link.body).status_code == 303
    return site


def sign_up(site: Site, name: str, address: str) -> Any:
    body = {"username": name, "email": address, "password": PASSWORD}
    return site.client.post("/api/v1/users", json=body)


def mails(site: Site, address: str) -> list[Email]:
    with site.services.database.reading() as session:
        return list(session.scalars(select(Email).where(Email.to == address).order_by(Email.id)))


def form(site: Site, path: str, **fields: str) -> Any:
    page = site.client.get(path)
    token = page.text.split('name="csrf_token" value="')[1].split('"')[0]
    return site.client.post(path, data={"csrf_token": token, **fields}, follow_redirects=False)


def open_link(site: Site, body: str, **fields: str) -> Any:
    (path,) = re.findall(r"http://testserver(/(?:confirm|reset)/\S+)", body)
    return form(site, path, **fields)


def log_in(site: Site, name: str, password: str = PASSWORD) -> int:
    body = {"username": name, "password": password}
    return site.client.post("/api/v1/tokens/log-in", json=body).status_code


def told(answer: Any, *own: str) -> tuple[int, dict[str, Any]]:
    """What an answer says beside what was sent."""
    return answer.status_code, {k: v for k, v in answer.json().items() if k not in ("id", "created_at", *own)}


def test_sign_up_does_not_tell_whether_an_address_is_known(mailing_site: Site) -> None:
    site = mailing_site
    of_known, of_fresh = sign_up(site, "eve-one", KNOWN), sign_up(site, "eve-two", FRESH)
    assert told(of_known, "username", "email") == told(of_fresh, "username", "email")
    assert of_known.status_code == 201 and of_known.json()["email"] == KNOWN
    # Nor does anything that the two accounts can do afterwards.
    assert log_in(site, "eve-one") == log_in(site, "eve-two") == 201
    assert log_in(site, FRESH) == 401
    for name in ("eve-one", "eve-two"):
        site.client.cookies.clear()
        assert form(site, "/login", username=name, password=PASSWORD).status_code == 303
        page = site.client.get("/account/security").text
        assert "is not confirmed" in page
        token = page.split('name="csrf_token" value="')[1].split('"')[0]
        again = site.client.post("/account/confirm", data={"csrf_token": token})
        assert "on its way" in again.text
    site.client.cookies.clear()


def test_the_same_in_the_browser(mailing_site: Site) -> None:
    answers = []
    for name, address in (("eve-one", KNOWN), ("eve-two", FRESH)):
        mailing_site.client.cookies.clear()
        sent = form(mailing_site, "/sign-up", username=name, email=address, password=PASSWORD)
        front = mailing_site.client.get("/").text.replace(name, "NAME")
        same = re.sub(
            r'(value|content)="[^"]{40,}"|<svg class="avatar.*?</svg>', "", front
        )  # drawn from the name
        answers.append((sent.status_code, sent.headers["location"], same))
    mailing_site.client.cookies.clear()
    assert answers[0] == answers[1] and answers[0][0] == 303


def test_the_owner_of_a_known_address_is_told_and_keeps_it(mailing_site: Site) -> None:
    site = mailing_site
    sign_up(site, "eve", KNOWN)
    notice = mails(site, KNOWN)[-1]
    assert "belongs to your account bob" in notice.body and "/confirm/" not in notice.body
    assert log_in(site, KNOWN) == 201  # bob's password is the same in this test: whose token is it?
    body = {"username": KNOWN, "password": PASSWORD}
    token = site.client.post("/api/v1/tokens/log-in", json=body).json()["secret"]
    me = site.client.get("/api/v1/me", headers={"authorization": f"Bearer {token}"}).json()
    assert me["username"] == "bob"


def test_of_two_who_claim_an_address_its_owner_decides(mailing_site: Site) -> None:
    site = mailing_site
    sign_up(site, "eve", FRESH)
    sign_up(site, "frank", FRESH)
    of_eve, of_frank = mails(site, FRESH)
    assert open_link(site, of_frank.body).status_code == 303
    late = open_link(site, of_eve.body)
    assert late.status_code == 409 and "has an account already" in late.text
    assert log_in(site, FRESH) == 201


def test_a_forgotten_password_of_an_address_never_confirmed(mailing_site: Site) -> None:
    site = mailing_site
    sign_up(site, "frank", FRESH)
    assert form(site, "/reset", email=FRESH).status_code == 200
    link = mails(site, FRESH)[-1]
    assert "/reset/" in link.body
    assert open_link(site, link.body, password=PASSWORD + "!").status_code == 303
    body = {"username": FRESH, "password": PASSWORD + "!"}
    assert site.client.post("/api/v1/tokens/log-in", json=body).status_code == 201  # the link confirmed it


def test_no_mailbox_is_flooded_by_sign_ups(mailing_site: Site) -> None:
    limit = mailing_site.services.settings.budgets["links_sent"].limit
    before = len(mails(mailing_site, KNOWN))
    for number in range(limit + 3):
        assert sign_up(mailing_site, f"eve-{number}", KNOWN.upper()).status_code == 201
    assert len(mails(mailing_site, KNOWN)) - before < limit


def test_a_captain_learns_nobodys_address(mailing_site: Site) -> None:
    site = mailing_site
    with site.services.database.writing() as session:
        site.competition(session).team_size = 3
    captain = site.person("captain")
    petra = site.person("petra")
    for person in (captain, petra):
        assert person.call("POST", f"/api/v1/competitions/{SLUG}/join", json={}).status_code in (200, 201)
    path = f"/competitions/{SLUG}/team/invite"
    asked = {
        name: captain.call("POST", path, data={"username": name}).text.replace(name, "NAME")
        for name in ("petra@example.org", "who@example.org", "petra")
    }
    assert "No participant of this competition has that name" in asked["petra@example.org"]
    assert "No participant of this competition has that name" not in asked["petra"]


def test_a_user_name_is_public_and_one_persons(mailing_site: Site) -> None:
    taken = sign_up(mailing_site, "BOB", FRESH)
    assert taken.status_code == 409 and taken.json()["message"] == "This user name is taken."


def ask_for(site: Site, address: str) -> Any:
    site.client.cookies.clear()
    assert form(site, "/login", username="bob", password=PASSWORD).status_code == 303
    token = site.client.get("/account/security").text.split('name="csrf_token" value="')[1].split('"')[0]
    sent = {"csrf_token": token, "email": address}
    answer = site.client.post("/account/security/address", data=sent, follow_redirects=False)
    site.client.cookies.clear()
    return answer


def test_another_address_counts_once_its_link_is_opened_and_the_old_one_is_told(mailing_site: Site) -> None:
    site = mailing_site
    assert form(site, "/reset", email=KNOWN).status_code == 200
    before = mails(site, KNOWN)[-1]
    assert ask_for(site, FRESH).status_code == 303
    (link,) = mails(site, FRESH)
    assert (log_in(site, KNOWN), log_in(site, FRESH)) == (201, 401)
    assert open_link(site, link.body).status_code == 303
    assert (log_in(site, KNOWN), log_in(site, FRESH)) == (401, 201)
    told_old = mails(site, KNOWN)[-1]
    assert (
        "has a new e-mail address" in told_old.body and "bob" in told_old.body and FRESH not in told_old.body
    )
    assert open_link(site, link.body).status_code == 404
    late = open_link(site, before.body, password=PASSWORD + "!")  # it went to the old address
    assert late.status_code == 404 and log_in(site, "bob") == 201


def test_a_new_password_ends_the_links_that_somebody_asked_for_with_the_old_one(mailing_site: Site) -> None:
    site = mailing_site
    assert ask_for(site, FRESH).status_code == 303  # by somebody who knows the password
    (theirs,) = mails(site, FRESH)
    assert form(site, "/reset", email=KNOWN).status_code == 200
    assert open_link(site, mails(site, KNOWN)[-1].body, password=PASSWORD + "!").status_code == 303
    assert open_link(site, theirs.body).status_code == 404
    assert (log_in(site, FRESH, PASSWORD + "!"), log_in(site, KNOWN, PASSWORD + "!")) == (401, 201)


@pytest.mark.seconds("many passwords are tried")
def test_a_session_is_no_place_to_guess_a_password_in(mailing_site: Site) -> None:
    site = mailing_site
    site.client.cookies.clear()
    assert form(site, "/login", username="bob", password=PASSWORD).status_code == 303
    token = site.client.get("/account/security").text.split('name="csrf_token" value="')[1].split('"')[0]

    def guess(path: str, **fields: str) -> tuple[int, str]:
        answer = site.client.post(path, data={"csrf_token": token, **fields})
        return answer.status_code, answer.text

    for number in range(5):
        guess("/account/security/password", old=f"guess {number}", password="mallory's long passphrase")
        guess("/account/delete", confirm_name="bob", password=f"guess {number}")
    status, page = guess("/account/security/password", old=PASSWORD, password="mallory's long passphrase")
    assert status == 429 and "codes, and passwords asked for again" in page
    assert guess("/account/delete", confirm_name="bob", password=PASSWORD)[0] == 429
    site.client.cookies.clear()
    assert log_in(site, "bob") == 201


def test_a_change_does_not_tell_whose_an_address_is_and_takes_none_from_its_owner(mailing_site: Site) -> None:
    site = mailing_site
    sign_up(site, "carl", FRESH)
    assert open_link(site, mails(site, FRESH)[-1].body).status_code == 303
    asked = {name: ask_for(site, name) for name in (FRESH, "free@university.example")}
    assert {(one.status_code, one.headers["location"]) for one in asked.values()} == {
        (303, "/account/security")
    }
    notice = mails(site, FRESH)[-1]
    assert "belongs to your account carl" in notice.body and "/confirm/" not in notice.body
    (link,) = mails(site, "free@university.example")
    sign_up(site, "dora", "free@university.example")  # somebody else confirms it first
    assert open_link(site, mails(site, "free@university.example")[-1].body).status_code == 303
    assert open_link(site, link.body).status_code == 409
    assert log_in(site, KNOWN) == 201


def test_who_changes_an_address_has_said_the_password_lately(mailing_site: Site) -> None:
    site = mailing_site
    site.client.cookies.clear()
    assert form(site, "/login", username="bob", password=PASSWORD).status_code == 303
    with site.services.database.writing() as session:
        session.execute(update(LoginSession).values(proved_at=now() - timedelta(days=1)))
    page = site.client.get("/account/security").text
    token = page.split('name="csrf_token" value="')[1].split('"')[0]
    answer = site.client.post(
        "/account/security/address",
        data={"csrf_token": token, "email": FRESH},
        headers={"accept": "text/html"},
        follow_redirects=False,
    )
    assert "/account/prove" in answer.headers.get("location", "") + answer.text
    assert mails(site, FRESH) == []


def test_a_site_without_mail_takes_an_address_as_it_is_written_and_names_what_is_wrong(site: Site) -> None:
    sign_up(site, "bob", KNOWN)
    sign_up(site, "carl", "carl@university.example")
    taken = ask_for(site, "carl@university.example")
    assert taken.status_code == 409 and "has an account already" in taken.text
    wrong = ask_for(site, "no address")
    assert (
        wrong.status_code == 422
        and 'value="no address"' in wrong.text
        and 'aria-invalid="true"' in wrong.text
    )
    assert ask_for(site, FRESH).status_code == 303
    assert (log_in(site, KNOWN), log_in(site, FRESH)) == (401, 201)
