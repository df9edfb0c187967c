"""Private and unlisted competitions, scheduled opening, and the copy for next year."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.service import add_member
from anyshot_platform.contest.competitions.states import CompetitionState, MemberStatus, Role, Visibility
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.database import now
from anyshot_platform.people.accounts.service import create_token
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Scope
from tests.platform.site import SLUG, Person, Site

API = f"/api/v1/competitions/{SLUG}"
PAGE = f"/competitions/{SLUG}"
STANDINGS = (
    "nobody",
    "stranger",
    "member",
    "invited",
    "banned",
    "rejected",
    "withdrawn",
    "reviewer",
    "owner",
)


@pytest.fixture
def people(site: Site) -> dict[str, Person | None]:
    """One of each standing."""
    found: dict[str, Person | None] = {"nobody": None, "owner": site.owner(), "stranger": site.person("sam")}
    statuses = {
        "member": MemberStatus.APPROVED,
        "invited": MemberStatus.INVITED,
        "banned": MemberStatus.BANNED,
        "rejected": MemberStatus.REJECTED,
        "withdrawn": MemberStatus.WITHDRAWN,
        "reviewer": MemberStatus.APPROVED,
    }
    for name, status in statuses.items():
        person = site.person(name)
        with site.services.database.writing() as session:
            competition = session.query(Competition).filter_by(slug=SLUG).one()
            role = Role.REVIEWER if name == "reviewer" else Role.PARTICIPANT
            add_member(session, competition, session.get_one(User, person.id), role).status = status
        found[name] = person
    return found


def set_up(
    site: Site, visibility: Visibility, *, opens_in: int | None = None, state: str = "published"
) -> None:
    with site.services.database.writing() as session:
        row = session.query(Competition).filter_by(slug=SLUG).one()
        row.visibility, row.state = visibility, CompetitionState(state)
        row.opens_at = None if opens_in is None else now() + timedelta(hours=opens_in)


def look(site: Site, person: Person | None, path: str):
    if person is None:
        return site.client.get(path, headers={"accept": "application/json"})
    return person.call("GET", path, headers={"accept": "application/json"})


def expected(standing: str, visibility: str, opens_in: int | None, state: str) -> tuple[bool, bool]:
    """Whether the door opens, and whether lists show it: written down independently of the code."""
    if standing in ("reviewer", "owner"):
        return True, True
    if state == "draft" or opens_in == 1:
        return False, False
    insider = standing in ("member", "invited")
    return {"public": (True, True), "unlisted": (True, insider), "private": (insider, insider)}[visibility]


@pytest.mark.rotating
def test_who_sees_what_in_every_setting(site: Site, people: dict[str, Person | None]) -> None:
    wrong = []
    for visibility, opens_in, state in product(Visibility, (None, -1, 1), ("published", "draft")):
        set_up(site, visibility, opens_in=opens_in, state=state)
        for standing in STANDINGS:
            person = people[standing]
            opened = look(site, person, API).status_code == 200
            listed = SLUG in {row["slug"] for row in look(site, person, "/api/v1/competitions").json()}
            on_page = PAGE in look(site, person, "/competitions").text
            found = (opened, listed, on_page)
            wanted = expected(standing, visibility.value, opens_in, state)
            if found != (*wanted, wanted[1]):
                wrong.append((visibility, opens_in, state, standing, found))
    assert wrong == []


def test_a_token_that_may_not_organize_lists_no_draft(site: Site) -> None:
    set_up(site, Visibility.PUBLIC, state="draft")
    owner = site.owner()
    with site.services.database.writing() as session:
        token = create_token(session, owner.id, name="to read", scopes=(Scope.READ,)).secret
    for person, listed in ((owner, True), (replace(owner, token=token), False)):
        rows = look(site, person, "/api/v1/competitions").json()
        assert (SLUG in {row["slug"] for row in rows}) is listed
        assert (look(site, person, API).status_code == 200) is listed


def test_nobody_outside_learns_that_a_private_competition_exists(
    site: Site, people: dict[str, Person | None]
) -> None:
    set_up(site, Visibility.PRIVATE)
    stranger = people["stranger"]
    assert stranger is not None
    rest = (
        "",
        "/leaderboard",
        "/data",
        "/phases/feedback",
        "/join",
        "/announcements",
        "/discussion",
        "/logo",
    )
    for path in (*(f"{PAGE}{part}" for part in rest), API, f"{API}/data", f"{API}/leaderboards"):
        theirs = stranger.call("GET", path, headers={"accept": "application/json"})
        assert theirs.status_code == 404, path
    joined = stranger.call("POST", f"{API}/join", json={"accepts_terms": True})
    assert joined.status_code == 404
    absent = stranger.call("GET", API.replace(SLUG, "nothing-here")).json()
    assert stranger.call("GET", API).json() == absent
    assert "private" in people["member"].call("GET", PAGE).text  # pyright: ignore[reportOptionalMemberAccess]


def test_organizers_set_it_by_form_and_api_and_publishing_says_who_sees_it(site: Site) -> None:
    owner = site.owner()
    set_up(site, Visibility.PUBLIC, state="draft")
    settings = owner.call("GET", f"{API}/manage/settings").json()
    assert (settings["visibility"], settings["opens_at"]) == ("public", None)
    known = {key: value for key, value in settings.items() if key != "terms_version"}
    changed = {**known, "visibility": "unlisted", "opens_at": "2099-01-02T08:00:00Z"}
    assert owner.call("PUT", f"{API}/manage/settings", json=changed).status_code == 200
    assert (
        owner.call("PUT", f"{API}/manage/settings", json={**known, "visibility": "banana"}).status_code == 422
    )
    with site.services.database.reading() as session:
        row = session.query(Competition).filter_by(slug=SLUG).one()
        assert (row.visibility, row.opens_at) == (Visibility.UNLISTED, datetime(2099, 1, 2, 8, tzinfo=UTC))
    page = owner.call("GET", f"{PAGE}/manage/settings").text
    assert 'value="2099-01-02T08:00"' in page
    assert "opens 2 Jan 2099, 08:00 UTC" in owner.call("GET", PAGE).text


def test_the_copy_for_next_year_has_all_but_people_results_and_secrets(site: Site) -> None:
    owner, pia = site.owner(), site.member("pia")
    assert pia.submit().status_code == 201
    page = {"title": "Rules", "body": "Open {{ phases.feedback.dates }}."}
    assert owner.call("POST", f"{API}/manage/pages", json=page).status_code == 201
    made = owner.call(
        "POST", f"{API}/manage/clone", json={"slug": "next", "title": "Next", "start": "2030-05-01T00:00:00Z"}
    )
    assert made.status_code == 201, made.text
    with site.services.database.reading() as session:
        old = session.query(Competition).filter_by(slug=SLUG).one()
        new = session.query(Competition).filter_by(slug="next").one()
        before = session.query(Phase).filter_by(competition_id=old.id).one()
        after = session.query(Phase).filter_by(competition_id=new.id).one()
        assert (new.title, new.state) == ("Next", CompetitionState.DRAFT)
        assert after.starts_at == datetime(2030, 5, 1, tzinfo=UTC)
        assert before.ends_at is not None and after.ends_at is not None
        assert after.ends_at - after.starts_at == before.ends_at - before.starts_at
        assert after.live.meta_test_pool_version_id == before.live.meta_test_pool_version_id
        assert after.live.root != before.live.root
        assert after.quota_day == before.quota_day
        members = session.query(Membership).filter_by(competition_id=new.id).all()
        assert [member.user_id for member in members] == [owner.id]
        assert [copied.body for copied in new.pages] == [page["body"]]
    shown = owner.call("GET", "/competitions/next/pages/rules").text
    assert "May 1 to " in shown  # its texts follow its dates
    assert "2030" in shown
    taken = owner.call("POST", f"{API}/manage/clone", json={"slug": "next"})
    assert (taken.status_code, taken.json()["error"]) == (409, "address_taken")
    assert owner.call("POST", f"{API}/manage/clone", json={"slug": "No Name!"}).status_code == 422
    assert pia.call("POST", f"{API}/manage/clone", json={"slug": "mine"}).status_code == 403


def test_an_open_competition_stands_before_a_newer_one_that_opens_later(site: Site) -> None:
    opens = (now() + timedelta(days=48)).isoformat()
    body = {"slug": "later", "title": "Later", "start": opens}
    assert site.owner().call("POST", f"{API}/manage/clone", json=body).status_code == 201
    with site.services.database.writing() as session:
        session.query(Competition).filter_by(slug="later").one().state = CompetitionState.PUBLISHED
    listed = site.client.get("/competitions", headers={"accept": "text/html"}).text
    assert 0 < listed.index(f'href="/competitions/{SLUG}"') < listed.index('href="/competitions/later"')
