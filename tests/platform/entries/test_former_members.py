"""Who is in a team no more, by a ban, a rejection or a move: what they still see and change of it, and who follows."""

from collections.abc import Iterator
from typing import Any

import pytest

from anyshot_platform.contest.competitions.service import find_membership, owned_alone
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.people.accounts.actions.erasing import erase_user
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_platform.standings.results.actions.finals import _why_excluded
from tests.platform.admin.test_manage import page, post
from tests.platform.entries.test_entries import scored
from tests.platform.entries.test_members import HERE, PEOPLE, membership_of, move, team_of, team_up
from tests.platform.site import Person, Site, make_zip

BOARD = "/api/v1/competitions/small/phases/feedback/leaderboard"
WAYS = ("ban", "reject", "move")


@pytest.fixture
def site(site: Site) -> Iterator[Site]:
    """The competition has teams of two, and a rival `zoe` in it."""
    with site.services.database.writing() as session:
        site.competition(session).team_size = 2
    site.member("zoe")
    yield site


def act(site: Site, person: Person, way: str) -> None:
    """What organizers do to somebody: ban, reject or approve them, or move them to the rival's team."""
    if way == "move":
        assert move(site, person, "zoe").status_code == 200
        return
    body = {"reason": "a second account", "confirm": person.username, "override": True}
    answer = site.owner().call("POST", f"{PEOPLE}/{row_of(site, person)}/acts/{way}", json=body)
    assert answer.status_code == 200, answer.text


def row_of(site: Site, person: Person) -> str:
    with site.services.database.reading() as session:
        return membership_of(session, site, person).id


def team_of_two(site: Site) -> tuple[Person, Person]:
    ada, bea = site.member("ada"), site.member("bea")
    team_up(ada, bea)
    return ada, bea


def listed(person: Person) -> list[str]:
    return [row["id"] for row in person.call("GET", "/api/v1/submissions").json()["items"]]


@pytest.mark.parametrize("way", WAYS)
def test_a_former_member_reads_what_they_handed_in_and_neither_sees_nor_changes_more(
    site: Site, way: str
) -> None:
    """In no list, on no page, with none of the team's figures or files beside it."""
    site.set_phase(quota_day=None)
    ada, bea = team_of_two(site)
    worker = site.worker()
    before = scored(worker, ada, 0.6123, comment="secret plan")
    own = scored(worker, bea, 0.4)
    waits = bea.submit(make_zip(salt="waits")).json()["id"]
    assert "#1" in page(bea, f"/submissions/{own}").text  # beside the best other one of the team
    said = page(ada, f"/submissions/{own}").text
    assert f"/submissions/{own}/withdraw" in said and f"/submissions/{own}/note" in said
    act(site, bea, way)
    see_no_list(bea, own, waits, [before])
    read_their_own(ada, bea, own)
    change_nothing(
        ada, bea, own, waits, "You are banned" if way == "ban" else "You are no longer in the team"
    )
    while job := worker.claim():
        assert worker.complete(job, 0.3).status_code == 204
    after = scored(worker, ada, 0.7123, comment="secret plan")
    see_no_list(bea, own, waits, [before, after])
    assert set(listed(ada)) == {before, own, waits, after}
    if way == "move":
        assert ada.call("POST", f"/api/v1/submissions/{own}/withdraw").status_code == 200


def see_no_list(bea: Person, own: str, waits: str, others: list[str]) -> None:
    """No list shows what the team hands in."""
    assert set(listed(bea)) == {own, waits}
    pages = ("/submissions", "/", f"{HERE}/submissions", f"/submissions/compare?ids={own}")
    for path in (*pages, f"{HERE}/phases/feedback/submit"):
        shown = page(bea, path)
        assert not any(words in shown.text for words in ("secret plan", "0.612", "0.712")), path
    for one in others:
        for path in ("/submissions/{}", "/api/v1/submissions/{}", "/submissions/{}/code"):
            assert page(bea, path.format(one)).status_code == 404, path
    assert bea.call("GET", BOARD).json()["own_rank"] is None
    assert page(bea, f"{HERE}/leaderboard").text.count("/submissions/") == 0


def read_their_own(ada: Person, bea: Person, own: str) -> None:
    """What they handed in is theirs to read, without a word of the team's others."""
    shown = bea.call("GET", f"/api/v1/submissions/{own}").json()
    assert shown["score"] == 0.4 and shown["answer"]["changes"] == []
    assert all(place["counts"] for place in shown["answer"]["places"])
    assert "#1" not in page(bea, f"/submissions/{own}").text
    assert page(bea, f"/submissions/{own}/code").status_code == 200
    changes = bea.call("GET", f"/api/v1/submissions/{own}/code/changes")
    assert (changes.status_code, changes.json()) == (200, {"since": None, "files": []})
    of_ada = {"params": {"since": 1}}
    assert bea.call("GET", f"/api/v1/submissions/{own}/code/changes", **of_ada).status_code == 404
    assert ada.call("GET", f"/api/v1/submissions/{own}/code/changes", **of_ada).status_code == 200


def change_nothing(ada: Person, bea: Person, own: str, waits: str, words: str) -> None:
    """Neither a button nor a call of theirs changes what is the team's."""
    for one in (own, waits):
        shown = page(bea, f"/submissions/{one}").text
        assert not any(f"/submissions/{one}/{name}" in shown for name in ("withdraw", "cancel", "note"))
    tried: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", f"{own}/withdraw", {}),
        ("POST", f"{own}/restore", {}),
        ("POST", f"{waits}/cancel", {}),
        ("PATCH", own, {"json": {"comment": "mine"}}),
    ]
    for method, path, body in tried:
        refused = bea.call(method, f"/api/v1/submissions/{path}", **body)
        assert (refused.status_code, words in refused.text) == (403, True), (path, refused.text)
    assert post(bea, f"/submissions/{own}/note", comment="mine").status_code == 403
    kept = ada.call("GET", f"/api/v1/submissions/{own}").json()
    assert (kept["comment"], kept["withdrawn"]) == ("", False)


def test_who_is_rejected_without_an_upload_of_their_own_sees_nothing_of_the_team(site: Site) -> None:
    ada, bea = team_of_two(site)
    of_ada = scored(site.worker(), ada, 0.6)
    assert listed(bea) == [of_ada]
    act(site, bea, "reject")
    assert listed(bea) == []
    for path in ("", "/archive", "/log", "/code"):
        assert bea.call("GET", f"/api/v1/submissions/{of_ada}{path}").status_code == 404, path
    assert page(bea, f"/submissions/{of_ada}/everything.zip").status_code == 404
    assert bea.call("POST", f"/api/v1/submissions/{of_ada}/withdraw").status_code == 404
    act(site, bea, "approve")
    assert listed(bea) == [of_ada]


def seat_of(site: Site, person: Person) -> int:
    """Whether the team, which this person leads, may take one more in: the answer to an invitation of the rival."""
    return post(person, f"{HERE}/team/invite", username="zoe").status_code


def erase(site: Site, person: Person) -> None:
    with site.services.database.writing() as session:
        erase_user(session, session.get_one(User, person.id))


@pytest.mark.parametrize("way", [*WAYS, "delete"])
def test_who_stays_in_a_team_leads_it_and_has_the_seat_of_the_captain_who_is_gone(
    site: Site, way: str
) -> None:
    ada, bea = team_of_two(site)
    assert seat_of(site, bea) == 403  # ada leads it
    if way == "delete":
        erase(site, ada)
    else:
        act(site, ada, way)
    assert "captain" in page(bea, f"{HERE}/team").text and seat_of(site, bea) == 303
    assert post(bea, f"{HERE}/team/name", name="Beavers").status_code == 303


def test_who_is_banned_or_deleted_never_becomes_captain_of_a_team_of_others(site: Site) -> None:
    with site.services.database.writing() as session:
        site.competition(session).team_size = 4
    ada, bea, cleo, dora = (site.member(name) for name in ("ada", "bea", "cleo", "dora"))
    for other in (bea, cleo, dora):
        team_up(ada, other)
    act(site, bea, "ban")
    erase(site, cleo)
    act(site, ada, "move")
    assert seat_of(site, dora) == 303


def test_a_ban_is_not_lifted_unasked_where_the_team_has_taken_somebody_else_in(site: Site) -> None:
    ada, bea = team_of_two(site)
    act(site, bea, "ban")
    team_up(ada, site.member("cleo"))
    here = f"{PEOPLE}/{row_of(site, bea)}/acts/approve"
    asked = site.owner().call("POST", here, json={})
    assert asked.status_code == 409 and "The team “ada” is full without this person." in asked.text
    act(site, bea, "approve")  # by name, all the same
    assert team_of(site, bea) == "ada"


def test_the_last_owner_whose_account_is_there_gives_the_role_up_to_nobody(site: Site) -> None:
    ida = site.member("ida", Role.OWNER)
    title = "Small challenge"
    with site.services.database.writing() as session:
        site.competition(session).title = title
        assert owned_alone(session, site.owner_id) == []
    erase(site, ida)
    with site.services.database.reading() as session:
        assert owned_alone(session, site.owner_id) == [title]
        row = find_membership(session, site.competition(session).id, site.owner_id)
        assert row is not None
    body = {"role": "participant", "confirm": "olga"}
    refused = site.owner().call("POST", f"{PEOPLE}/{row.id}/acts/role", json=body)
    assert refused.status_code == 409 and "needs an owner: name another one first" in refused.text


@pytest.mark.parametrize("way", ["ban", "reject"])
def test_who_was_put_out_is_moved_out_of_the_team_which_enters_the_final_without_them(
    site: Site, way: str
) -> None:
    ada, bea = team_of_two(site)
    scored(site.worker(), ada, 0.6)
    act(site, bea, way)
    assert f'id="move-{row_of(site, bea)}"' in page(site.owner(), f"{HERE}/manage/people").text
    with site.services.database.reading() as session:
        team = session.get_one(Team, membership_of(session, site, ada).team_id)
        stays_out = _why_excluded(session, team)
    words = "a member is banned; without them, in a team of their own, the team can enter"
    assert stays_out == (words if way == "ban" else None)
    refused = move(site, bea, "zoe")
    assert refused.status_code == 409 and "Admit this person first." in refused.text
    asked = move(site, bea, confirm="").json()["preview"]["does"]
    assert "The person still takes no part." in asked
    assert move(site, bea).status_code == 200
    assert team_of(site, bea) == "bea"
    with site.services.database.reading() as session:
        assert membership_of(session, site, bea).status == (
            MemberStatus.BANNED if way == "ban" else MemberStatus.REJECTED
        )
        assert _why_excluded(session, session.get_one(Team, team.id)) is None
    assert move(site, bea).json()["team"]["name"] == "bea"  # done already
    assert bea.submit().status_code == 403
