"""Every rule "at least one" and "at most n" that is looked up before something is written holds for two at once.

Whoever adds one holds what they count in (`database.hold`) and adds a row here. Those that the database holds by
itself, such as a name that is there once, need none.
"""

from collections.abc import Callable
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import func, select

from anyshot_platform.contest.competitions import files
from anyshot_platform.contest.competitions.models import CompetitionFile, Membership
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.judging.workers.models import WorkerToken
from anyshot_platform.people.accounts import oauth
from anyshot_platform.people.accounts.actions.erasing import erase_user
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.people.teams.actions.joining import answer, invite
from anyshot_platform.people.teams.models import Team, TeamInvitation
from anyshot_platform.people.users.models import OAuthIdentity, User
from anyshot_platform.running.discussion.models import Post
from tests.platform.core.races import at_once
from tests.platform.core.test_access import member_of
from tests.platform.site import SLUG, Person, Site, make_zip

API = f"/api/v1/competitions/{SLUG}"
ADMIN = "/api/v1/admin"
ROUNDS = 3
Call = Callable[[], object]


class Refused(Exception):
    """An answer of the site that is no success, by its status."""


def ask(person: Person, method: str, path: str, **body: Any) -> Call:
    """A request to make: ends with `Refused` where the site refuses; any fault of the site fails the test."""

    def send() -> None:
        answered = person.call(method, path, json=body)
        assert answered.status_code < 500, answered.text
        if not answered.is_success:
            raise Refused(answered.status_code)

    return send


def both(*calls: Call) -> int:
    """How many of two or more that are made at the same moment succeed; a fault fails the test."""
    ready = Barrier(len(calls))

    def go(call: Call) -> None:
        ready.wait(30)
        call()

    outcomes = at_once(go, calls)
    assert outcomes.keys() <= {"ok", "Refused", "Conflict"}, outcomes
    return outcomes["ok"]


def count(site: Site, table: Any, *conditions: Any) -> int:
    with site.services.database.reading() as session:
        return session.scalar(select(func.count()).select_from(table).where(*conditions)) or 0


def an_owner_stays(site: Site, number: int) -> None:
    owner, other = site.owner(), site.member(f"owner{number}", Role.OWNER)

    def demote(who: Person, whom: str) -> Call:
        path = f"{API}/manage/people/{member_of(site, whom)}/acts/role"
        return ask(who, "POST", path, role="reviewer", confirm="")

    both(demote(owner, other.id), demote(other, owner.id))
    assert count(site, Membership, Membership.role == Role.OWNER) == 1
    with site.services.database.writing() as session:
        session.query(Membership).filter_by(user_id=site.owner_id).one().role = Role.OWNER
        session.query(Membership).filter_by(user_id=other.id).one().role = Role.REVIEWER


def administrators(site: Site, number: int) -> list[Person]:
    with site.services.database.writing() as session:
        for user in session.query(User):
            user.is_site_admin = False
    return [site.person(f"admin{number}{letter}", is_site_admin=True) for letter in "ab"]


def there(site: Site) -> int:
    return count(site, User, User.is_site_admin, User.blocked_at.is_(None), User.deleted_at.is_(None))


def an_administrator_stays(site: Site, number: int) -> None:
    one, two = administrators(site, number)
    both(*(ask(a, "POST", f"{ADMIN}/users/{b.username}/acts/demote") for a, b in ((one, two), (two, one))))
    assert there(site) == 1


def an_administrator_is_not_blocked(site: Site, number: int) -> None:
    one, two = administrators(site, number)
    both(
        *(
            ask(a, "POST", f"{ADMIN}/users/{b.username}/acts/block", confirm=b.username)
            for a, b in ((one, two), (two, one))
        )
    )
    assert there(site) == 1


def an_administrator_keeps_an_account(site: Site, number: int) -> None:
    def delete(person: Person) -> Call:
        def erase() -> None:
            with site.services.database.writing() as session:
                erase_user(session, session.get_one(User, person.id))

        return erase

    assert both(*map(delete, administrators(site, number))) == 1
    assert there(site) == 1


def team_of(site: Site, person: Person) -> str:
    with site.services.database.reading() as session:
        found = session.scalars(select(Membership.team_id).where(Membership.user_id == person.id)).one()
        assert found is not None
        return found


def invited(site: Site, captain: Person, *guests: Person) -> list[Call]:
    """The answers of guests who are asked into the captain's team of two."""
    with site.services.database.writing() as session:
        competition = site.competition(session)
        competition.team_size = 2
        team = session.get_one(Team, team_of(site, captain))
        for guest in guests:
            invite(session, competition, team, captain.id, guest.username)
        asked = dict(
            session.execute(
                select(TeamInvitation.user_id, TeamInvitation.id).where(TeamInvitation.team_id == team.id)
            ).all()
        )

    def accept(guest: Person) -> Call:
        def send() -> None:
            with site.services.database.writing() as session:
                answer(session, site.competition(session), guest.id, asked[guest.id], accept=True)

        return send

    return [accept(guest) for guest in guests]


def a_team_has_so_many_seats(site: Site, number: int) -> None:
    captain, *guests = [site.member(f"seat{number}{letter}") for letter in "abcdefgh"]
    assert both(*invited(site, captain, *guests)) == 1
    assert count(site, Membership, Membership.team_id == team_of(site, captain)) == 2


def organizers_crowd_no_team(site: Site, number: int) -> None:
    captain, guest, moved = [site.member(f"crowd{number}{letter}") for letter in "abc"]
    (accept,) = invited(site, captain, guest)
    move = {"team": team_of(site, captain), "confirm": moved.username}
    path = f"{API}/manage/people/{member_of(site, moved.id)}/acts/move"
    both(accept, ask(site.owner(), "POST", path, **move))
    assert count(site, Membership, Membership.team_id == team_of(site, captain)) == 2


def somebody_stays_in_a_team(site: Site, number: int) -> None:
    captain, guest = site.member(f"leave{number}a"), site.member(f"leave{number}b")
    (accept,) = invited(site, captain, guest)
    accept()
    team = team_of(site, captain)

    def leave(person: Person) -> Call:
        path, form = f"/competitions/{SLUG}/team/leave", {"accept": "text/html"}

        def send() -> None:
            answered = person.call("POST", path, headers=form, follow_redirects=False)
            assert answered.status_code < 500
            if answered.status_code != 303:
                raise Refused(answered.status_code)

        return send

    assert both(leave(captain), leave(guest)) == 1
    assert count(site, Membership, Membership.team_id == team) == 1


def a_competition_has_so_many_files(site: Site, number: int) -> None:
    def put(name: str) -> Call:
        def send() -> None:
            with site.services.database.writing() as session:
                files.put_file(session, site.services.storage, site.competition(session), name, b"text")

        return send

    assert both(put(f"{number}a.txt"), put(f"{number}b.txt")) == 1
    with site.services.database.writing() as session:
        assert session.query(CompetitionFile).delete() == 1


def a_way_into_an_account_stays(site: Site, number: int) -> None:
    person = site.person(f"away{number}")
    with site.services.database.writing() as session:
        session.get_one(User, person.id).password_hash = None
        rows = [OAuthIdentity(user_id=person.id, provider="orcid", subject=f"{number}{n}") for n in "ab"]
        session.add_all(rows)
        session.flush()
        ids = [row.id for row in rows]

    def remove(identity: str) -> Call:
        def send() -> None:
            with site.services.database.writing() as session:
                oauth.remove_log_in(session, person.id, identity)

        return send

    assert both(*map(remove, ids)) == 1
    assert count(site, OAuthIdentity, OAuthIdentity.user_id == person.id) == 1


def a_workers_name_is_used_once(site: Site, number: int) -> None:
    (one, two), name = administrators(site, number), f"gpu {number}"
    path = f"{ADMIN}/worker-tokens/acts/token"
    assert both(*(ask(who, "POST", path, name=name) for who in (one, two))) == 1
    assert count(site, WorkerToken, WorkerToken.name == name) == 1


def a_team_has_so_many_submissions(site: Site, number: int) -> None:
    person = site.member(f"quota{number}")
    ids = [person.upload(make_zip(salt=f"{number}{letter}")) for letter in "ab"]
    site.set_phase(quota_day=1)
    path = f"{API}/phases/feedback/submissions"
    assert both(*(ask(person, "POST", path, upload_id=upload) for upload in ids)) == 1


def a_thread_has_one_answer(site: Site, number: int) -> None:
    owner = site.owner()
    begun = owner.call("POST", f"{API}/discussion", json={"title": f"Thread {number}", "body": "Why?"})
    thread = f"{API}/discussion/{begun.json()['id']}"
    for body in ("one", "two"):
        assert owner.call("POST", f"{thread}/posts", json={"body": body}).status_code == 201
    posts = [post["id"] for post in owner.call("GET", thread).json()["posts"][1:]]
    both(*(ask(owner, "PUT", f"{thread}/posts/{post}/accepted") for post in posts))
    assert count(site, Post, Post.thread_id == begun.json()["id"], Post.accepted_at.is_not(None)) == 1


def an_act_is_done_once(site: Site, number: int) -> None:
    owner, other = site.owner(), site.member(f"organizer{number}", Role.ORGANIZER)
    close = f"{API}/manage/phases/feedback/acts/close"
    assert both(*(ask(who, "POST", close, reason=str(number)) for who in (owner, other))) == 2
    assert count(site, AuditEntry, AuditEntry.action == "phase.close", AuditEntry.reason == str(number)) == 1
    ask(owner, "POST", f"{API}/manage/phases/feedback/acts/open")()


RULES = (
    an_act_is_done_once,
    an_owner_stays,
    an_administrator_stays,
    an_administrator_is_not_blocked,
    an_administrator_keeps_an_account,
    a_team_has_so_many_seats,
    organizers_crowd_no_team,
    somebody_stays_in_a_team,
    a_competition_has_so_many_files,
    a_way_into_an_account_stays,
    a_workers_name_is_used_once,
    a_team_has_so_many_submissions,
    a_thread_has_one_answer,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_holds_for_two_at_once(
    postgres_site: Site, rule: Callable[[Site, int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_FILES", 1)
    for number in range(ROUNDS):
        rule(postgres_site, number)


def test_of_six_who_save_the_settings_at_once_none_meets_a_fault(postgres_site: Site) -> None:
    owner = postgres_site.owner()
    path = f"{API}/manage/settings"

    def save(number: int) -> Call:
        return ask(owner, "PATCH", path, summary=f"number {number}")

    assert both(*map(save, range(6))) >= 1
