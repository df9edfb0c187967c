"""An organizer changes what a league asks, or who decides there: its entries follow, who must answer is asked."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from anyshot_platform.contest.leagues.models import LeagueEntry
from anyshot_platform.contest.leagues.states import Admission, EntryStatus
from anyshot_platform.foundation.database import now
from anyshot_platform.people.notifications.models import Email
from tests.platform.admin.test_manage import flash, page, post
from tests.platform.core.test_league_decisions import ask, make_final
from tests.platform.entries.test_entries import LEAGUES, MANAGE, add_league, join_team, names, scored
from tests.platform.entries.test_moderating import rows
from tests.platform.site import Person, Site

LEAGUE_PAGE = "/competitions/small/manage/leagues"
WHY = {"key": "why", "label": "Why you", "answer": "text", "required": True, "shown_to": "organizers"}
PLEASE = "ada is in the league Free style: please answer its questions"


def change(owner: Person, league: str, **settings: Any) -> None:
    """Change these settings of a league."""
    answer = owner.call("PATCH", f"{MANAGE}/{league}", json=settings)
    assert answer.status_code == 200, answer.text


def answer(person: Person, league: str, **answers: str) -> None:
    said = person.call("PUT", f"{LEAGUES}/{league}/answers", json={"answers": answers})
    assert said.status_code == 200, said.text


def asked(site: Site) -> list[tuple[str, str]]:
    """Who was asked to answer, by e-mail."""
    with site.services.database.reading() as session:
        mails = session.scalars(
            select(Email).where(Email.subject.contains("please answer")).order_by(Email.to)
        )
        return [(mail.to.partition("@")[0], mail.subject) for mail in mails]


def enters(owner: Person) -> list[tuple[str, str]]:
    """Who would enter the final in which league, as the preview of its launch says."""
    rows = ask(owner, "GET", "/phases/final/final")
    return sorted((row["team"], league) for row in rows if row["enters"] for league in row["leagues"])


def test_a_question_that_is_added_holds_entries_back_at_once_and_asks_their_members(site: Site) -> None:
    owner, ada, bob = site.owner(), site.member("ada"), site.member("bob")
    worker = site.worker()
    scored(worker, ada, 0.5)
    scored(worker, bob, 0.4, leagues=["scratch"])
    make_final(owner)
    assert enters(owner) == [("ada", "free"), ("bob", "scratch")]
    form = {"league": "free", "title": "Free style", "admission": "all", "questions": "why [text]: Why you"}
    assert flash(post(owner, LEAGUE_PAGE, **form)) == "The league is saved."
    assert names(site, "free") == []
    assert ("ada", "Free style", "held back") in rows(owner)
    assert "ada must answer the questions of the league." in page(ada, "/competitions/small/leagues").text
    assert enters(owner) == [("bob", "scratch")]
    assert asked(site) == [("ada", PLEASE)], "bob is in another league"
    answer(ada, "free", why="I study")
    assert names(site, "free") == [("ada", 0.5)]


def test_every_member_is_asked_once_where_every_member_must_qualify_now(site: Site) -> None:
    owner, ada, eve = site.owner(), site.member("ada"), site.member("eve")
    join_team(site, ada, eve)
    change(owner, "free", questions=[WHY])
    scored(site.worker(), ada, 0.5)
    answer(ada, "free", why="I study")
    assert names(site, "free") == [("ada", 0.5)]
    change(owner, "free", every_member=True)
    assert (names(site, "free"), [name for name, _ in asked(site)]) == ([], ["ada", "eve", "eve"])
    change(owner, "free", questions=[{**WHY, "label": "Why are you here"}])
    change(owner, "free", prizes="A cup")
    assert [name for name, _ in asked(site)] == ["ada", "eve", "eve"], "who was asked is not asked again"


@pytest.mark.parametrize("admission", [Admission.ALL, Admission.DECLARED])
def test_a_condition_that_is_lifted_lets_the_entries_stand(site: Site, admission: Admission) -> None:
    owner, worker, ada, bob = site.owner(), site.worker(), site.member("ada"), site.member("bob")
    add_league(site, "asking", admission=Admission.ALL, questions=[WHY])
    add_league(site, "reviewed", admission=Admission.APPROVAL)
    scored(worker, ada, 0.5, leagues=["asking", "reviewed"])
    scored(worker, bob, 0.4, leagues=["reviewed"])
    ask(owner, "POST", "/leagues/entries/decide", decision(site, bob, admit=False))
    assert (names(site, "asking"), names(site, "reviewed")) == ([], [])
    change(owner, "asking", questions=[])
    change(owner, "reviewed", admission=admission.value)
    assert names(site, "asking") == [("ada", 0.5)]
    assert names(site, "reviewed") == [("ada", 0.5)], "what an organizer refused stays refused"
    assert ("ada", "Reviewed", "stands on the leaderboard") in rows(owner)


def decision(site: Site, person: Person, *, admit: bool) -> dict[str, Any]:
    listed = site.owner().call("GET", f"{MANAGE}/entries").json()
    entries = [
        {"submission": row["submission"], "league": row["league"]}
        for row in listed
        if row["team"] == person.username
    ]
    return {"entries": entries, "admit": admit, "reason": "looked"}


def test_where_submissions_are_approved_instead_of_teams_the_undecided_wait(site: Site) -> None:
    """The organizers had refused ada and admitted bob as teams, and said nothing of eve."""
    owner, worker = site.owner(), site.worker()
    people = {name: site.member(name) for name in ("ada", "bob", "eve")}
    add_league(site, "students", admission=Admission.APPROVAL, questions=[WHY])
    for score, person in enumerate(people.values(), start=1):
        scored(worker, person, score / 10, leagues=["students"])
        answer(person, "students", why="I study")
    teams = {row["team_name"]: row["team"] for row in owner.call("GET", f"{MANAGE}/teams").json()}
    for name, admit in (("ada", False), ("bob", True)):
        said = {"league": "students", "teams": [teams[name]], "admit": admit, "reason": "seen"}
        assert owner.call("POST", f"{MANAGE}/teams/decide", json=said).json()["changed"] == 1
    change(owner, "students", questions=[])
    assert names(site, "students") == [("bob", 0.2)]
    listed = {
        row["team"]: (row["status"], row["reason"]) for row in owner.call("GET", f"{MANAGE}/entries").json()
    }
    assert listed == {"ada": ("refused", "seen"), "bob": ("admitted", ""), "eve": ("declared", "")}


def test_a_submission_that_waited_waits_with_its_team_where_teams_are_approved_now(site: Site) -> None:
    owner, ada = site.owner(), site.member("ada")
    add_league(site, "students", admission=Admission.APPROVAL)
    scored(site.worker(), ada, 0.5, leagues=["students"])
    change(owner, "students", questions=[WHY])
    answer(ada, "students", why="I study")
    (row,) = owner.call("GET", f"{MANAGE}/teams").json()
    said = {"league": "students", "teams": [row["team"]], "admit": True}
    owner.call("POST", f"{MANAGE}/teams/decide", json=said)
    assert names(site, "students") == [("ada", 0.5)], "one decision is enough"


def test_who_cannot_answer_any_more_is_not_asked(site: Site) -> None:
    owner, ada = site.owner(), site.member("ada")
    scored(site.worker(), ada, 0.5)
    site.set_phase(ends_at=now() - timedelta(minutes=1))
    change(owner, "free", every_member=True)
    assert (names(site, "free"), asked(site)) == ([], [])
    change(owner, "free", every_member=False)
    assert names(site, "free") == [("ada", 0.5)]


def test_a_team_that_is_gone_is_not_asked(site: Site) -> None:
    owner, worker, ada, bob = site.owner(), site.worker(), site.member("ada"), site.member("bob")
    scored(worker, ada, 0.5)
    withdrawn = scored(worker, bob, 0.4)
    assert bob.call("POST", f"/api/v1/submissions/{withdrawn}/withdraw").is_success
    change(owner, "free", every_member=True)
    assert [name for name, _ in asked(site)] == ["ada"]
    with site.services.database.reading() as session:
        assert {row.status for row in session.query(LeagueEntry)} == {EntryStatus.ADMITTED}
