"""E-mails that wait for their hour, and competitions that are muted."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from anyshot_platform.foundation.database import now
from anyshot_platform.people.accounts.actions.erasing import erase_user
from anyshot_platform.people.notifications.delivery import send_due_emails
from anyshot_platform.people.notifications.letters import next_digest, send_email
from anyshot_platform.people.notifications.models import Email, Notification
from anyshot_platform.people.notifications.service import notify
from anyshot_platform.people.users.models import MailRhythm, OneTimeToken, User
from anyshot_platform.running.announcements.results import say_change
from tests.platform.admin.test_manage import post
from tests.platform.entries.playing import browser
from tests.platform.site import SLUG, Person, Site

DELIVERY = "/api/v1/notifications/delivery"


def _reader(site: Site, name: str, rhythm: str = "at_once") -> Person:
    person = site.member(name)
    with site.services.database.writing() as session:
        user = session.get_one(User, person.id)
        user.email, user.email_verified_at = f"{name}@example.org", now()
    assert person.call("PUT", DELIVERY, json={"mail_rhythm": rhythm}).json()["mail_rhythm"] == rhythm
    return person


def _announce(site: Site, title: str, body: str = "") -> None:
    path = f"/api/v1/competitions/{SLUG}/manage/announcements/acts/add"
    assert site.owner().call("POST", path, json={"title": title, "body": body}).status_code == 200


def _let_pass(site: Site) -> None:
    """The hour of all digests has come."""
    with site.services.database.writing() as session:
        for email in session.scalars(select(Email).where(Email.digest_of.is_not(None))):
            email.next_at = now() - timedelta(seconds=1)


def _sent(site: Site) -> list[str]:
    """What went out, but for the organizer's."""
    send_due_emails(site.services, say_change)
    folder = site.services.settings.home / "mail"
    mails = [path.read_text() for path in sorted(folder.glob("*.eml"))] if folder.exists() else []
    return [mail for mail in mails if "To: olga@" not in mail]


def test_a_digest_gathers_what_happened_and_goes_out_once(site: Site) -> None:
    alice, bob = _reader(site, "alice", "daily"), _reader(site, "bob")
    _announce(site, "First thing", "Some text.\n\n/not-an-address")
    _announce(site, "Second thing")
    mails = _sent(site)
    assert len(mails) == 2 and all("bob@example.org" in mail for mail in mails)  # Alice's waits
    _let_pass(site)
    (digest,) = [mail for mail in _sent(site) if "alice@example.org" in mail]
    assert "Your day" in digest and "Hello alice," in digest
    assert digest.index("First thing") < digest.index("Second thing")
    assert f"http://testserver/competitions/{SLUG}/announcements" in digest
    assert "http://testserver/not-an-address" not in digest  # a text's own line leads nowhere new
    assert digest.count("/account/notifications") == 1 and "List-Unsubscribe-Post" in digest
    _announce(site, "Third thing")
    _let_pass(site)
    digests = [mail for mail in _sent(site) if "alice@example.org" in mail]
    assert len(digests) == 2 and sum("Third thing" in mail for mail in digests) == 1
    titles = {note["title"] for note in alice.call("GET", "/api/v1/notifications").json()}
    assert {f"A small competition: {word} thing" for word in ("First", "Second", "Third")} <= titles
    assert bob.call("GET", DELIVERY).json() == {"mail_rhythm": "at_once", "muted": []}


def test_a_mail_is_ended_by_one_click_unless_its_reader_needs_it(site: Site) -> None:
    alice, bob = _reader(site, "alice"), _reader(site, "bob")
    _announce(site, "Something")
    with site.services.database.writing() as session:
        send_email(session, to="alice@example.org", subject="Your new password", body="/account/reset")
    mails = _sent(site)
    (needed,) = [mail for mail in mails if "List-Unsubscribe" not in mail]
    assert "Your new password" in needed
    (mail,) = [mail for mail in mails if "To: alice@" in mail and mail is not needed]
    assert "\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\n" in mail
    found = re.search(r"^List-Unsubscribe: <http://testserver(/\S+)>$", mail, re.MULTILINE)
    assert found is not None
    path = found[1]
    site.client.cookies.clear()
    one_click = {"List-Unsubscribe": "One-Click"}
    assert site.client.post(path[:-1] + "g", data=one_click).status_code == 404
    assert site.client.post(path.replace(alice.id, bob.id), data=one_click).status_code == 404
    assert "Send no more e-mails" in site.client.get(path).text
    _announce(site, "Still comes")
    assert site.client.post(path, data=one_click).status_code == 200
    assert bob.call("POST", path, data=one_click).status_code == 200  # another's log-in decides nothing
    _announce(site, "Comes no more")
    told = [mail for mail in _sent(site) if "alice@example.org" in mail]
    assert any("Still comes" in mail for mail in told) and not any("Comes no more" in mail for mail in told)
    titles = [note["title"] for note in alice.call("GET", "/api/v1/notifications").json()]
    assert "A small competition: Comes no more" in titles
    assert any("bob@example.org" in mail and "Comes no more" in mail for mail in _sent(site))


@pytest.mark.parametrize("gone", ["erased", "blocked", "moved"])
def test_a_digest_goes_to_who_reads_it_then(site: Site, gone: str) -> None:
    alice = _reader(site, "alice", "weekly")
    _announce(site, "Something")
    with site.services.database.writing() as session:
        user = session.get_one(User, alice.id)
        if gone == "erased":
            erase_user(session, user)
        elif gone == "blocked":
            user.blocked_at = now()
        else:
            user.email = user.email_key = "elsewhere@example.org"
    _let_pass(site)
    mails = _sent(site)
    assert not any("alice@example.org" in mail for mail in mails)
    assert sum("elsewhere@example.org" in mail and "Your week" in mail for mail in mails) == (gone == "moved")
    with site.services.database.reading() as session:
        waiting = session.scalars(select(Email).where(Email.digest_of == alice.id)).all()
        assert [email.sent for email in waiting] == ([True] if gone == "moved" else [])


def _waiting(site: Site, person: Person) -> Email:
    with site.services.database.reading() as session:
        return session.scalars(select(Email).where(Email.digest_of == person.id)).one()


@pytest.mark.parametrize(
    ("before", "after", "by"),
    [("weekly", "daily", "json"), ("daily", "weekly", "page"), ("weekly", "at_once", "page")],
)
def test_another_rhythm_holds_for_the_digest_that_waits_too(
    site: Site, before: str, after: str, by: str
) -> None:
    """From weekly to daily, what happened until then still came on Monday, under “Your week”."""
    alice = _reader(site, "alice", before)
    _announce(site, "Something")
    if by == "json":
        alice.call("PUT", DELIVERY, json={"mail_rhythm": after})
    else:
        post(browser(site, alice), "/account/notifications", mail_rhythm=after)
    digest = _waiting(site, alice)
    if after == "at_once":
        assert any("Something" in mail for mail in _sent(site) if "alice@example.org" in mail)
        return
    assert digest.subject == {"daily": "Your day", "weekly": "Your week"}[after]
    assert digest.next_at == next_digest(MailRhythm(after), "UTC", now())
    assert not any("alice@example.org" in mail for mail in _sent(site))


@pytest.mark.parametrize("by", ["json", "page"])
def test_a_digest_that_waits_goes_out_at_eight_of_the_new_time_zone(site: Site, by: str) -> None:
    alice = _reader(site, "alice", "daily")
    _announce(site, "Something")
    if by == "json":
        alice.call("PATCH", "/api/v1/me", json={"time_zone": "Asia/Tokyo"})
    else:
        post(browser(site, alice), "/account", time_zone="Asia/Tokyo")
    assert _waiting(site, alice).next_at == next_digest(MailRhythm.DAILY, "Asia/Tokyo", now())


def _erase(site: Site, person: Person) -> None:
    with site.services.database.writing() as session:
        erase_user(session, session.get_one(User, person.id))


def test_a_deleted_account_leaves_no_message_and_no_address(site: Site) -> None:
    """Address and texts stayed in the database, sent or not, though the page says that the data are erased."""
    alice, _ = _reader(site, "alice"), _reader(site, "bob")
    _announce(site, "Sent")
    _sent(site)
    _announce(site, "Still waits")
    with site.services.database.writing() as session:
        send_email(session, to="Alice@Example.org", subject="Hello", body="As the address was written once.")
        session.add(
            OneTimeToken(
                user_id=alice.id, purpose="x", digest="d", subject="alice@example.org", expires_at=now()
            )
        )
    _erase(site, alice)
    with site.services.database.reading() as session:
        assert set(session.scalars(select(Email.to))) == {"bob@example.org", "olga@example.org"}
        assert session.scalars(select(Notification).where(Notification.user_id == alice.id)).all() == []
        assert session.scalars(select(OneTimeToken)).all() == []
    titles = [note["title"] for note in site.owner().call("GET", "/api/v1/notifications").json()]
    assert len(titles) == 2
    page = site.person("rosa", is_site_admin=True).call("GET", "/admin/audit").text
    assert "account.delete" in page


def test_who_typed_anothers_address_takes_no_mail_of_it_along(site: Site) -> None:
    alice = _reader(site, "alice")
    mallory = site.person("mallory", confirmed=False)
    with site.services.database.writing() as session:
        session.get_one(User, mallory.id).email = "alice@example.org"
    _announce(site, "For Alice")
    _erase(site, mallory)
    assert any("alice@example.org" in mail and "For Alice" in mail for mail in _sent(site))
    _erase(site, alice)
    with site.services.database.reading() as session:
        assert set(session.scalars(select(Email.to))) == {"olga@example.org"}


@pytest.mark.parametrize(
    ("rhythm", "zone", "moment", "due"),
    [
        ("daily", "UTC", "2026-07-01T07:59", "2026-07-01T08:00"),  # a Wednesday
        ("daily", "UTC", "2026-07-01T08:00", "2026-07-02T08:00"),
        ("daily", "America/New_York", "2026-07-01T11:00", "2026-07-01T12:00"),
        ("weekly", "UTC", "2026-07-01T07:00", "2026-07-06T08:00"),
        ("weekly", "UTC", "2026-07-06T07:00", "2026-07-06T08:00"),
        ("weekly", "UTC", "2026-07-06T08:00", "2026-07-13T08:00"),
        ("daily", "Europe/Paris", "2026-10-24T10:00", "2026-10-25T07:00"),  # the night that clocks go back
        ("daily", "no such zone", "2026-07-01T07:00", "2026-07-01T08:00"),
    ],
)
def test_a_digest_is_due_at_eight_of_its_readers_day(rhythm: str, zone: str, moment: str, due: str) -> None:
    found = next_digest(MailRhythm(rhythm), zone, datetime.fromisoformat(moment).replace(tzinfo=UTC))
    assert found == datetime.fromisoformat(due).replace(tzinfo=UTC)


def test_a_muted_competition_says_nothing_but_what_is_ones_own(site: Site) -> None:
    alice = _reader(site, "alice")
    mute = f"/api/v1/competitions/{SLUG}/mute"
    assert alice.call("PUT", mute).json()["muted"] == [SLUG]
    assert alice.call("PUT", mute).json()["muted"] == [SLUG]
    _announce(site, "Something")
    with site.services.database.writing() as session:
        competition = site.competition(session)
        notify(session, [alice.id], kind="membership", title="You are moved", about=competition.id)
    assert [note["title"] for note in alice.call("GET", "/api/v1/notifications").json()] == ["You are moved"]
    assert len(_sent(site)) == 1
    page = {**alice.headers, "accept": "text/html"}
    assert "Unmute" in site.client.get(f"/competitions/{SLUG}/announcements", headers=page).text
    assert alice.call("DELETE", mute).json()["muted"] == []
    _announce(site, "Something else")
    with site.services.database.reading() as session:
        titles = session.scalars(select(Notification.title).where(Notification.user_id == alice.id)).all()
    assert "A small competition: Something else" in titles and "A small competition: Something" not in titles


def test_a_muted_competition_tells_no_results_either(site: Site) -> None:
    alice = _reader(site, "alice")
    alice.call("PUT", f"/api/v1/competitions/{SLUG}/mute")
    alice.submit()
    worker = site.worker()
    job = worker.claim()
    assert job is not None and worker.complete(job, 0.5).status_code == 204
    assert alice.call("GET", "/api/v1/notifications").json() == [] and _sent(site) == []


def test_messages_show_no_marks_of_markdown(site: Site) -> None:
    """Announcements and answers are written in Markdown; a mail and the list of messages show plain text."""
    alice = _reader(site, "alice")
    body = "# News\n\nSet-1 is **loaded**, see [the guide](/docs/guide) and `model.py`.\n\n- one\n- two\n\n<b>Bye</b>"
    _announce(site, "Set-1", body)
    plain = "News\n\nSet-1 is loaded, see the guide (/docs/guide) and model.py.\n- one\n- two\n\nBye"
    with site.services.database.reading() as session:
        notes = session.scalars(select(Notification).where(Notification.user_id == alice.id)).all()
        assert [note.body for note in notes] == [plain]
    (mail,) = _sent(site)
    assert "Set-1 is loaded, see the guide (/docs/guide) and model.py." in mail and "**" not in mail
    discussion = f"/api/v1/competitions/{SLUG}/discussion"
    thread = alice.call("POST", discussion, json={"title": "A question", "body": "May I?"}).json()["id"]
    answer = site.owner().call("POST", f"{discussion}/{thread}/posts", json={"body": "*Yes*, **you** may."})
    assert answer.status_code == 201, answer.text
    with site.services.database.reading() as session:
        query = select(Notification).where(Notification.kind == "discussion.reply")
        assert session.scalars(query).one().body == "Yes, you may."
