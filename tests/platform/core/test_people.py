"""Strangers: addresses that are confirmed, invitations that are accepted, tokens that open what they say."""

import re
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from anyshot_platform.app import make_services
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.service import add_member
from anyshot_platform.contest.competitions.states import CompetitionState, Registration, Role
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.workers.models import WorkerToken
from anyshot_platform.judging.workers.tokens import Reach, create_worker_token
from anyshot_platform.people.accounts.service import create_token
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.people.notifications.models import Email
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Scope
from anyshot_platform.server.serving import keep_private
from tests.platform.site import PASSWORD, SLUG, PaperWorker, Person, Site

API = f"/api/v1/competitions/{SLUG}"


def set_up(site: Site, **changes: Any) -> None:
    values = {**site.services.settings.model_dump(), **changes}
    object.__setattr__(site.services, "settings", PlatformSettings.model_validate(values))


def sign_up(site: Site, name: str) -> Person:
    """Somebody who came by themselves, with a token of theirs."""
    body = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
    assert site.client.post("/api/v1/users", json=body).status_code == 201
    with site.services.database.writing() as session:
        user = session.scalars(select(User).where(User.username_key == name)).one()
        token = create_token(session, user.id, name="tests", scopes=tuple(Scope), proved_at=now()).secret
        return Person(user.id, name, token, site.client)


def mails(site: Site, address: str) -> list[Email]:
    with site.services.database.reading() as session:
        return list(session.scalars(select(Email).where(Email.to == address).order_by(Email.id)))


def open_link(site: Site, body: str) -> int:
    (path,) = re.findall(r"http://testserver(/confirm/\S+)", body)
    page = site.client.get(path)
    token = page.text.split('name="csrf_token" value="')[1].split('"')[0]
    return site.client.post(path, data={"csrf_token": token}, follow_redirects=False).status_code


def invitation(name: str, role: str) -> dict[str, str]:
    return {"username": name, "role": role, "confirm": name}


def test_nothing_is_sent_to_or_joined_by_an_address_that_is_not_confirmed(site: Site) -> None:
    set_up(site, confirm_addresses=True)
    nina = sign_up(site, "nina")
    refused = nina.call("POST", f"{API}/join", json={})
    assert refused.status_code == 403 and "confirm your e-mail address" in refused.json()["message"]
    with site.services.database.writing() as session:
        add_member(session, site.competition(session), session.get_one(User, nina.id), Role.PARTICIPANT)
    news = {"title": "News", "body": "text"}
    assert site.owner().call("POST", f"{API}/manage/announcements/acts/add", json=news).status_code == 200
    (link,) = mails(site, "nina@example.org")
    assert open_link(site, link.body) == 303
    assert open_link(site, link.body) == 404
    assert nina.call("POST", f"{API}/join", json={}).status_code in (200, 201)
    more = {**news, "title": "More news"}
    assert site.owner().call("POST", f"{API}/manage/announcements/acts/add", json=more).status_code == 200
    assert len(mails(site, "nina@example.org")) == 2


def test_a_site_without_mail_takes_addresses_as_they_are_written(site: Site) -> None:
    set_up(site, confirm_addresses=None, smtp_url=None)
    assert not site.services.settings.asks_to_confirm
    nina = sign_up(site, "nina")
    assert nina.call("POST", f"{API}/join", json={}).status_code in (200, 201)
    set_up(site, smtp_url="smtp://localhost")
    assert site.services.settings.asks_to_confirm


def test_the_invited_decide_and_nobodys_address_is_told_before(site: Site) -> None:
    owner, guest = site.owner(), site.person("guest")
    with site.services.database.writing() as session:
        site.competition(session).state = CompetitionState.DRAFT
    asked = owner.call("POST", f"{API}/manage/people", json=invitation("guest", "reviewer"))
    assert asked.status_code == 201
    assert asked.json()["status"] == "invited" and asked.json()["email"] is None
    by_address = {"username": "guest@example.org", "role": "reviewer"}
    assert owner.call("POST", f"{API}/manage/people", json=by_address).status_code == 422
    assert owner.call("GET", f"{API}/manage/people", params={"q": "guest@exa"}).json()["total"] == 0
    assert guest.call("GET", API).status_code == 404
    approved = owner.call("POST", f"{API}/manage/people/{asked.json()['id']}/acts/approve")
    assert approved.status_code == 409  # nobody answers for somebody else
    assert guest.call("POST", f"{API}/invitation", json={"accept": True}).json()["role"] == "reviewer"
    assert guest.call("GET", API).status_code == 200
    shown = owner.call("GET", f"{API}/manage/people", params={"q": "guest"}).json()["items"]
    assert [item["email"] for item in shown] == ["guest@example.org"]
    assert guest.call("POST", f"{API}/invitation", json={"accept": True}).status_code == 404


def test_who_declines_is_no_member(site: Site) -> None:
    owner, guest = site.owner(), site.person("guest")
    body = invitation("guest", "organizer")
    assert owner.call("POST", f"{API}/manage/people", json=body).status_code == 201
    assert guest.call("POST", f"{API}/invitation", json={"accept": False}).status_code == 200
    assert guest.call("GET", f"{API}/manage/people").status_code == 403


def test_an_invitation_needs_a_confirmed_address_too(site: Site) -> None:
    set_up(site, confirm_addresses=True)
    nina, body = sign_up(site, "nina"), {"username": "nina", "role": "participant"}
    assert site.owner().call("POST", f"{API}/manage/people", json=body).status_code == 201
    refused = nina.call("POST", f"{API}/invitation", json={"accept": True})
    assert refused.status_code == 403 and "confirm your e-mail address" in refused.json()["message"]
    assert nina.submit().status_code == 403


def test_only_addresses_of_the_named_domains_join(site: Site) -> None:
    with site.services.database.writing() as session:
        site.competition(session).email_domains = ["Univ.edu"]
    refused = site.person("nina").call("POST", f"{API}/join", json={})
    assert refused.status_code == 403 and "Univ.edu" in refused.json()["message"]
    student = site.person("sam")
    with site.services.database.writing() as session:
        session.get_one(User, student.id).email_key = "sam@univ.edu"
    assert student.call("POST", f"{API}/join", json={}).is_success


def test_where_organizers_approve_nobody_submits_before(site: Site) -> None:
    with site.services.database.writing() as session:
        site.competition(session).registration = Registration.APPROVAL
    nina = site.person("nina")
    assert nina.call("POST", f"{API}/join", json={}).is_success
    assert nina.submit().status_code == 403
    (waiting,) = site.owner().call("GET", f"{API}/manage/people", params={"q": "nina"}).json()["items"]
    assert site.owner().call("POST", f"{API}/manage/people/{waiting['id']}/acts/approve").status_code == 200
    assert nina.submit().status_code == 201


def test_reviewers_see_and_find_no_addresses(site: Site) -> None:
    site.member("petra")
    rita, oscar = site.member("rita", Role.REVIEWER), site.member("oscar", Role.ORGANIZER)
    for person, seen in ((rita, False), (oscar, True)):
        listed = person.call("GET", f"{API}/manage/people", params={"q": "petra"}).json()["items"]
        assert [item["email"] is not None for item in listed] == [seen]
        found = person.call("GET", f"{API}/manage/people", params={"q": "petra@exam"}).json()["total"]
        assert found == int(seen)
        page = person.call("GET", f"/competitions/{SLUG}/manage/people").text
        assert ("petra@example.org" in page) == seen


def test_a_draft_mails_nobody(site: Site) -> None:
    with site.services.database.writing() as session:
        site.competition(session).state = CompetitionState.DRAFT
    news = {"title": "Your password has expired", "body": "text"}
    assert site.owner().call("POST", f"{API}/manage/announcements/acts/add", json=news).status_code == 409


def test_who_may_organize_is_granted(site: Site) -> None:
    set_up(site, organizers="granted")
    alice, root = site.person("alice"), site.person("rosa", is_site_admin=True)
    begin = {"title": "Mine", "slug": "mine"}
    for path, sent in (
        ("/organize/new", {"data": begin}),
        ("/api/v1/pools", {"json": {"slug": "mine"}}),
        ("/organize/import", {"data": {"ready": "cross-domain-metadl-2022"}}),
    ):
        refused = alice.call("POST", path, headers={"accept": "application/json"}, **sent)
        assert refused.status_code == 403 and "administrators" in refused.json()["message"], path
    root.call("POST", f"/admin/users/{alice.id}/let-organize")
    assert alice.call("POST", "/organize/new", data=begin, follow_redirects=False).status_code == 303


def narrowed(site: Site, person_id: str, *scopes: Scope) -> Person:
    with site.services.database.writing() as session:
        token = create_token(session, person_id, name="narrow", scopes=scopes, proved_at=now()).secret
    return Person(person_id, "narrow", token, site.client)


def test_a_read_token_opens_nothing_that_organizers_alone_see(site: Site) -> None:
    petra = site.member("petra")
    submission = petra.submit().json()["id"]
    reading = narrowed(site, site.owner_id, Scope.READ, Scope.SUBMIT, Scope.ACCOUNT)
    full = site.owner()
    for path in (
        f"/competitions/{SLUG}/manage/bundle-with-seeds",
        f"/competitions/{SLUG}/manage/bundle.zip",
        f"{API}/manage/people",
        "/api/v1/pools/small-pool",
        f"{API}/manage/webhooks",
        f"/api/v1/submissions/{submission}",
        f"/api/v1/submissions/{submission}/archive",
    ):
        assert reading.call("GET", path).status_code in (403, 404), path
        assert full.call("GET", path, follow_redirects=False).status_code in (200, 302, 303, 307), path
    with site.services.database.writing() as session:
        site.competition(session).state = CompetitionState.DRAFT
    assert reading.call("GET", API).status_code == 404
    admin = site.person("rosa", is_site_admin=True)
    reader = narrowed(site, admin.id, Scope.READ)
    assert admin.call("GET", "/admin/users").status_code == 200
    assert reader.call("GET", "/admin/users").status_code == 403
    told = reader.call("GET", "/api/v1/admin/workers").json()["message"]
    assert told == "This API token lacks the scope “organize”."  # not that she is no administrator
    for person, seen in ((admin, True), (reader, False)):  # the draft of somebody else
        listed = person.call("GET", "/api/v1/competitions").json()
        assert (SLUG in [one["slug"] for one in listed]) == seen


def test_a_token_that_submits_changes_no_team_and_writes_no_posts(site: Site) -> None:
    petra = site.member("petra")
    submits = narrowed(site, petra.id, Scope.READ, Scope.SUBMIT)
    team, html = f"/competitions/{SLUG}/team", {"accept": "text/html"}
    for path, form in (("name", {"name": "Others"}), ("invite", {"username": "olga"}), ("leave", {})):
        answer = submits.call("POST", f"{team}/{path}", data=form, headers=html)
        assert answer.status_code == 403 and "lacks the scope “account”" in answer.text, path
    thread = {"title": "Title", "body": "Body"}
    assert submits.call("POST", f"{API}/discussion", json=thread).status_code == 403
    assert submits.call("GET", team, headers=html).status_code == 200
    assert submits.submit().status_code == 201


def test_security_events_are_in_the_log(site: Site) -> None:
    alice = site.person("alice", password=PASSWORD)
    body = {"username": "alice", "password": PASSWORD}
    token = site.client.post("/api/v1/tokens/log-in", json=body).json()
    assert alice.call("DELETE", f"/api/v1/tokens/{token['id']}").status_code == 204
    root = site.person("rosa", is_site_admin=True)
    page = root.call("GET", "/admin/audit").text
    for action in ("account.log_in", "token.create", "token.revoke"):
        assert action in page
    with site.services.database.reading() as session:
        kept = " ".join(str(entry.after) for entry in session.scalars(select(AuditEntry)))
    assert token["secret"] not in kept


@pytest.mark.parametrize(
    ("reach", "hardware_class", "gets"),
    [
        (Reach(), "cpu", True),
        (Reach(hardware_class="cpu"), "cpu", True),
        (Reach(hardware_class="gpu"), "cpu", False),
        (Reach(competition_id="own"), "cpu", True),
        (Reach(competition_id="other"), "cpu", False),
    ],
)
def test_a_workers_token_reaches_what_it_is_for(
    site: Site, reach: Reach, hardware_class: str, gets: bool
) -> None:
    site.member("petra").submit()
    with site.services.database.writing() as session:
        own = site.competition(session)
        other = type(own)(slug="other", title="Other", created_by=site.owner_id)
        session.add(other)
        session.flush()
        ids = {"own": own.id, "other": other.id}
        reach = Reach(reach.hardware_class, ids.get(reach.competition_id or ""), reach.days)
        token = create_worker_token(session, "machine", reach=reach)
    worker = PaperWorker(site.client, token, "machine", hardware_class=hardware_class)
    try:
        claimed = worker.claim()
    except AssertionError:
        claimed = None
    assert (claimed is not None) == gets


def test_a_workers_token_ends_and_its_use_is_noted(site: Site) -> None:
    worker = site.worker()
    assert worker.claim() is None
    with site.services.database.writing() as session:
        token = session.scalars(select(WorkerToken)).one()
        assert token.last_used_at is not None and token.expires_at is not None
        token.expires_at = token.created_at
    with pytest.raises(AssertionError, match="expired"):
        worker.claim()


def test_a_revoked_workers_token_gets_nothing(site: Site) -> None:
    worker, admin = site.worker(), site.person("rosa", is_site_admin=True)
    assert worker.claim() is None
    site.member("petra").submit()
    with site.services.database.reading() as session:
        token_id = session.scalars(select(WorkerToken.id)).one()
    asked = admin.call("POST", f"/admin/workers/tokens/{token_id}/revoke")
    assert "turned away from now on: 1." in asked.text and "go back to the queue: 0." in asked.text
    admin.call("POST", f"/admin/workers/tokens/{token_id}/revoke", data={"confirm": "paper"})
    with pytest.raises(AssertionError, match="revoked"):
        worker.claim()


def test_files_of_a_site_are_its_users_alone(tmp_path: Path) -> None:
    from tests.platform.conftest import make_settings

    settings = make_settings(tmp_path / "home")
    services = make_services(settings)
    (settings.home / "mail").mkdir(parents=True)
    for path in (settings.home / "anyshot.sqlite3", settings.home / "mail" / "1.eml"):
        path.write_text("x")
        path.chmod(0o644)
    import os

    before = os.umask(0o022)
    try:
        keep_private(settings)
        (settings.home / "later").write_text("x")
    finally:
        os.umask(before)
        services.database.dispose()
    for path in [settings.home, *settings.home.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_joining_an_approval_competition_by_invitation_needs_no_second_approval(site: Site) -> None:
    guest = site.person("guest")
    body = {"username": "guest", "role": "participant"}
    assert site.owner().call("POST", f"{API}/manage/people", json=body).status_code == 201
    assert guest.call("POST", f"{API}/join", json={}).status_code in (200, 201)
    with site.services.database.reading() as session:
        row = session.scalars(select(Membership).where(Membership.user_id == guest.id)).one()
    assert (row.status, row.role) == ("approved", Role.PARTICIPANT)
