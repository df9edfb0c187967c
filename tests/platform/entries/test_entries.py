"""The entry of a team in a league: what stands, what it replaces, who may have one."""

import re
from datetime import timedelta
from typing import Any

import pytest

from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.leagues.states import Admission
from anyshot_platform.contest.phases.states import BoardShows
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.accounts.actions.erasing import erase_user
from anyshot_platform.people.users.models import User
from anyshot_platform.standings.entries.models import LeagueAnswer
from anyshot_platform.standings.leaderboards.service import refresh_everywhere
from tests.platform.admin.test_manage import page
from tests.platform.site import PaperWorker, Person, Site, make_zip

ENTRIES = "/api/v1/competitions/small/phases/feedback/entries"
LEAGUES = "/api/v1/competitions/small/leagues"
MANAGE = "/api/v1/competitions/small/manage/leagues"
CV = {"key": "cv", "label": "My page", "answer": "link", "required": False, "shown_to": "team"}


def add_league(site: Site, slug: str, **values: Any) -> None:
    with site.services.database.writing() as session:
        competition = site.competition(session)
        session.add(League(competition_id=competition.id, slug=slug, name=slug.title(), position=9, **values))


def scored(worker: PaperWorker, person: Person, score: float, **wishes: Any) -> str:
    """A submission that a worker gave this score; returns its id."""
    made = person.submit(make_zip(salt=f"{person.username}{score}{wishes}"), **wishes)
    assert made.status_code == 201, made.text
    job = worker.claim()
    assert job is not None
    assert worker.complete(job, score).status_code == 204
    return made.json()["id"]


def names(site: Site, league: str) -> list[tuple[str, float]]:
    return [(row["team"], row["score"]) for row in site.board(league)["rows"]]


def test_a_submission_for_one_league_leaves_the_entry_in_another(site: Site) -> None:
    """CDML was ranked in free-style with one method and in meta-learning with another."""
    worker, cdml = site.worker(), site.member("cdml")
    scored(worker, cdml, 0.646, leagues=["free"])
    scored(worker, cdml, 0.265, leagues=["scratch"])
    assert names(site, "free") == [("cdml", 0.646)]
    assert names(site, "scratch") == [("cdml", 0.265)]
    shown = cdml.call("GET", ENTRIES).json()
    assert [(row["league"], row["number"], row["state"]) for row in shown] == [
        ("free", 1, "standing"),
        ("scratch", 2, "standing"),
    ]


def test_who_names_no_league_where_none_is_open_to_all_is_told_to_choose(site: Site) -> None:
    with site.services.database.writing() as session:
        for league in session.query(League):
            league.admission = Admission.DECLARED
    refused = site.member("ada").submit()
    assert (refused.status_code, refused.json()["message"]) == (
        422,
        "Choose a league that this submission enters.",
    )


def open_to_some(site: Site) -> None:
    """Leagues that are open to all, but not now, or not to everybody."""
    add_league(site, "later", opens_at=now() + timedelta(days=1))
    add_league(site, "shut", closed_to_newcomers=True)
    add_league(site, "scarce", quota_day=1)


def test_who_names_no_league_enters_those_that_the_team_can_enter_now(site: Site) -> None:
    open_to_some(site)
    worker, ada = site.worker(), site.member("ada")
    entered = [
        sorted(ada.call("GET", f"/api/v1/submissions/{scored(worker, ada, score)}").json()["leagues"])
        for score in (0.4, 0.5)
    ]
    assert entered == [["free", "scarce"], ["free"]]
    assert (names(site, "free"), names(site, "scarce")) == ([("ada", 0.5)], [("ada", 0.4)])
    named = ada.submit(make_zip(salt="named"), leagues=["free", "later"])
    assert named.status_code == 409 and "The league Later opens at " in named.json()["message"]


def test_the_upload_form_ticks_what_can_be_entered_and_says_why_the_others_cannot(site: Site) -> None:
    open_to_some(site)
    worker, ada = site.worker(), site.member("ada")

    def ticked() -> list[str]:
        return re.findall(r'name="league" value="(\w+)" checked', upload_form(ada))

    assert ticked() == ["free", "scarce"]
    assert "The league Later opens at " in upload_form(ada)
    assert "The league Shut is closed to teams that have no entry in it." in upload_form(ada)
    scored(worker, ada, 0.4)
    assert ticked() == ["free"]
    assert "Your team has used today&#39;s submissions in the league Scarce." in upload_form(ada)


def upload_form(person: Person) -> str:
    return " ".join(page(person, "/competitions/small/phases/feedback/submit").text.split())


def test_who_names_no_league_where_the_team_can_enter_none_is_told_why(site: Site) -> None:
    with site.services.database.writing() as session:
        session.query(League).filter_by(slug="free").one().opens_at = now() + timedelta(days=1)
    refused = site.member("ada").submit()
    assert refused.status_code == 409 and "The league Free style opens at " in refused.json()["message"]


@pytest.mark.parametrize(
    ("shows", "stands", "choice"),
    [(BoardShows.LAST, 0.2, "last"), (BoardShows.BEST, 0.6, "best")],
)
def test_the_rule_of_the_phase_chooses_what_stands(
    site: Site, shows: BoardShows, stands: float, choice: str
) -> None:
    site.set_phase(board_shows=shows)
    worker, ada = site.worker(), site.member("ada")
    for score in (0.5, 0.6, 0.2):
        scored(worker, ada, score)
    assert names(site, "free") == [("ada", stands)]
    (entry,) = ada.call("GET", ENTRIES).json()
    assert entry["choice"] == choice
    replaced = [change["replaced"] is not None for change in entry["history"]]
    assert replaced == ([True, True, False] if shows == BoardShows.LAST else [True, False])


def women(site: Site) -> None:
    add_league(
        site,
        "women",
        admission=Admission.APPROVAL,
        every_member_qualifies=True,
        questions=[
            {
                "key": "woman",
                "label": "I am a woman",
                "answer": "confirm",
                "required": True,
                "shown_to": "organizers",
            },
            CV,
        ],
    )


def asked(person: Person) -> str:
    """What the page of leagues says."""
    return " ".join(page(person, "/competitions/small/leagues").text.split())


def test_every_member_answers_then_the_organizers_decide_on_the_team(site: Site) -> None:
    women(site)
    worker, ada, eve, owner = site.worker(), site.member("ada"), site.member("eve"), site.owner()
    join_team(site, ada, eve)
    assert ("Your team is not in this league." in asked(ada), "must answer" in asked(ada)) == (True, False)
    scored(worker, ada, 0.5, leagues=["free", "women"])
    assert ("Your team is not in this league." in asked(ada), "must answer" in asked(ada)) == (False, True)
    assert (names(site, "free"), names(site, "women")) == ([("ada", 0.5)], [])
    entry = next(row for row in ada.call("GET", ENTRIES).json() if row["league"] == "women")
    assert (entry["state"], entry["reason"]) == (
        "held_back",
        "ada, eve must answer the questions of the league.",
    )
    no = ada.call("PUT", f"{LEAGUES}/women/answers", json={"answers": {"woman": "no"}})
    assert (no.status_code, no.json()["message"]) == (422, "Confirm: I am a woman")
    said = {"answers": {"woman": "yes", "cv": "https://example.org/ada"}}
    shown = ada.call("PUT", f"{LEAGUES}/women/answers", json=said).json()
    assert (shown["status"], shown["reason"]) == ("declared", "eve must answer the questions of the league.")
    mine = {row["username"]: row["answers"] for row in shown["members"]}
    assert mine == {"ada": {"cv": "https://example.org/ada"}, "eve": None}  # what the team may see
    eve.call("PUT", f"{LEAGUES}/women/answers", json={"answers": {"woman": "yes"}})
    assert names(site, "women") == []
    shown_to_organizers = " ".join(page(owner, "/competitions/small/manage/leagues").text.split())
    assert '<span class="muted">I am a woman</span> yes' in shown_to_organizers
    assert "My page</span> <" not in shown_to_organizers  # eve gave none
    assert "Decided already" not in shown_to_organizers
    (row,) = owner.call("GET", f"{MANAGE}/teams").json()
    assert (row["team_name"], row["status"], row["missing"]) == ("ada", "declared", [])
    assert row["people"][0]["answers"] == {"woman": True, "cv": "https://example.org/ada"}
    decision = {"league": "women", "teams": [row["team"]], "admit": True, "reason": "welcome"}
    assert owner.call("POST", f"{MANAGE}/teams/decide", json=decision).json()["changed"] == 1
    assert owner.call("POST", f"{MANAGE}/teams/decide", json=decision).json()["changed"] == 0
    decided = " ".join(page(owner, "/competitions/small/manage/leagues").text.split())
    waits, _, folded = decided.partition("Decided already: 1 team</summary>")
    assert "Nothing to decide" in waits and "welcome" in folded and "welcome" not in waits
    assert names(site, "women") == [("ada", 0.5)]
    scored(worker, eve, 0.7, leagues=["women"])
    assert names(site, "women") == [("ada", 0.7)]  # a team is decided on once, not each submission
    assert names(site, "free") == [("ada", 0.5)]


def test_answers_that_a_league_cannot_take_are_told_why(site: Site) -> None:
    """An unknown question, a missing text, a link that is none; who is no member is told to join."""
    question = {"key": "why", "label": "Why you", "answer": "text", "required": True, "shown_to": "team"}
    link = {"key": "cv", "label": "My page", "answer": "link", "required": False, "shown_to": "team"}
    add_league(site, "students", admission=Admission.DECLARED, questions=[question, link])
    add_league(site, "plain", admission=Admission.DECLARED)
    ada, sam = site.member("ada"), site.person("sam")

    def told(person: Person, league: str, **answers: str) -> str:
        sent = person.call("PUT", f"{LEAGUES}/{league}/answers", json={"answers": answers})
        return sent.json().get("message", "")

    assert told(ada, "students", why="x", age="9") == "Students does not ask age. Its questions: why, cv."
    assert told(ada, "plain", age="9") == "Plain asks nothing."
    assert told(ada, "students", cv="https://example.org") == "Answer: Why you"
    assert told(ada, "students", why="x", cv="me") == "My page: a link begins with https://, found “me”."
    assert told(sam, "students", why="x").endswith("Join the competition first.")
    assert told(ada, "students", why="I study", cv="") == ""
    mine = next(row for row in ada.call("GET", LEAGUES).json() if row["league"] == "students")
    assert mine["members"][0]["answers"] == {"why": "I study", "cv": ""}


def test_the_same_answers_again_leave_a_decision_as_it_is_and_others_open_it(site: Site) -> None:
    women(site)
    worker, ada, owner = site.worker(), site.member("ada"), site.owner()
    scored(worker, ada, 0.5, leagues=["women"])
    said = {"answers": {"woman": "yes", "cv": "https://example.org/ada"}}
    ada.call("PUT", f"{LEAGUES}/women/answers", json=said)
    (row,) = owner.call("GET", f"{MANAGE}/teams").json()
    decision = {"league": "women", "teams": [row["team"]], "admit": True}
    owner.call("POST", f"{MANAGE}/teams/decide", json=decision)
    ada.call("PUT", f"{LEAGUES}/women/answers", json=said)
    assert names(site, "women") == [("ada", 0.5)]
    said["answers"]["cv"] = "https://example.org/another"
    ada.call("PUT", f"{LEAGUES}/women/answers", json=said)
    assert names(site, "women") == []
    owner.call("POST", f"{MANAGE}/teams/decide", json={**decision, "admit": False, "reason": "no"})
    said["answers"]["cv"] = ""
    shown = ada.call("PUT", f"{LEAGUES}/women/answers", json=said).json()
    # A refusal is not undone by another answer.
    assert (shown["status"], shown["reason"]) == ("refused", "no")


def test_a_new_member_is_asked_and_what_was_handed_in_before_stands(site: Site) -> None:
    women(site)
    worker, ada, owner = site.worker(), site.member("ada"), site.owner()
    scored(worker, ada, 0.5, leagues=["women"])
    ada.call("PUT", f"{LEAGUES}/women/answers", json={"answers": {"woman": "yes"}})
    (row,) = owner.call("GET", f"{MANAGE}/teams").json()
    owner.call(
        "POST", f"{MANAGE}/teams/decide", json={"league": "women", "teams": [row["team"]], "admit": True}
    )
    assert names(site, "women") == [("ada", 0.5)]
    bob = site.member("bob")
    join_team(site, ada, bob)
    assert names(site, "women") == [("ada", 0.5)]
    scored(worker, ada, 0.6, leagues=["women"])
    assert names(site, "women") == []
    (entry,) = ada.call("GET", ENTRIES).json()
    assert (entry["state"], entry["reason"]) == ("held_back", "bob must answer the questions of the league.")
    bob.call("PUT", f"{LEAGUES}/women/answers", json={"answers": {"woman": "yes"}})
    (entry,) = ada.call("GET", ENTRIES).json()
    assert entry["reason"] == "The organizers have not decided yet.", "they decided on ada alone"


def test_who_has_not_answered_when_all_is_over_is_asked_nothing(site: Site) -> None:
    women(site)
    ada, where = site.member("ada"), "/competitions/small/leagues"
    assert f'action="{where}/women/answers"' in page(ada, where).text
    site.set_phase(ends_at=now() - timedelta(minutes=1))
    shown = " ".join(page(ada, where).text.split())
    assert f'action="{where}/women/answers"' not in shown
    assert "The competition is over: answers can no longer be changed." in shown
    late = ada.call("PUT", f"{LEAGUES}/women/answers", json={"answers": {"woman": "yes"}})
    assert late.status_code == 409 and "The competition is over" in late.json()["message"]


def test_answers_are_the_organizers_alone_and_go_with_the_account(site: Site) -> None:
    women(site)
    worker, ada, owner = site.worker(), site.member("ada"), site.owner()
    scored(worker, ada, 0.5, leagues=["women"])
    ada.call("PUT", f"{LEAGUES}/women/answers", json={"answers": {"woman": "yes"}})
    assert ada.call("GET", f"{MANAGE}/teams").status_code == 403
    with site.services.database.writing() as session:
        erase_user(session, session.get_one(User, ada.id))
    (row,) = owner.call("GET", f"{MANAGE}/teams").json()
    assert row["people"] == []
    with site.services.database.reading() as session:
        assert [kept.answers for kept in session.query(LeagueAnswer)] == [{}]


def erase(site: Site, *people: Person) -> None:
    """Delete these accounts; then a board is brought in line."""
    with site.services.database.writing() as session:
        team_ids = {row.team_id for row in session.query(Submission)}
        for person in people:
            erase_user(session, session.get_one(User, person.id))
        for team_id in team_ids:
            refresh_everywhere(session, team_id)


@pytest.mark.parametrize(
    ("every", "answering"),
    [(True, ("eve", "ada")), (False, ("ada",))],  # there eve has not answered, and need not
)
def test_the_row_of_a_team_stays_when_members_delete_their_accounts(
    site: Site, every: bool, answering: tuple[str, ...]
) -> None:
    add_league(site, "asking", admission=Admission.DECLARED, every_member_qualifies=every, questions=[CV])
    people = {name: site.member(name) for name in ("ada", "eve")}
    join_team(site, people["ada"], people["eve"])
    scored(site.worker(), people["ada"], 0.5, leagues=["asking"])
    for name in answering:
        people[name].call("PUT", f"{LEAGUES}/asking/answers", json={"answers": {"cv": "https://a.org"}})
    assert names(site, "asking") == [("ada", 0.5)]
    for name in answering:
        erase(site, people[name])
        assert names(site, "asking") == [("ada", 0.5)]


def test_who_deletes_the_account_needs_no_answer_of_theirs_and_does_not_come_in_by_it(site: Site) -> None:
    add_league(site, "asking", admission=Admission.DECLARED, every_member_qualifies=True, questions=[CV])
    worker, ada, eve, sol = site.worker(), site.member("ada"), site.member("eve"), site.member("sol")
    join_team(site, ada, eve)
    for person, score in ((ada, 0.5), (sol, 0.4)):
        scored(worker, person, score, leagues=["asking"])
    ada.call("PUT", f"{LEAGUES}/asking/answers", json={"answers": {"cv": "https://a.org"}})
    assert names(site, "asking") == []
    erase(site, eve, sol)
    assert names(site, "asking") == [("ada", 0.5)]  # sol, who never answered, is alone and still held back


def test_a_league_has_its_own_quota_and_doors(site: Site) -> None:
    add_league(site, "small-league", admission=Admission.DECLARED, quota_day=1)
    add_league(site, "closed-league", admission=Admission.DECLARED, closed_to_newcomers=True)
    worker, ada = site.worker(), site.member("ada")
    scored(worker, ada, 0.5, leagues=["small-league"])
    again = ada.submit(make_zip(salt="again"), leagues=["small-league", "free"])
    assert again.status_code == 429 and "in the league Small-League" in again.json()["message"]
    shut = ada.submit(make_zip(salt="shut"), leagues=["closed-league"])
    assert shut.status_code == 409 and "closed to teams that have no entry" in shut.json()["message"]
    scored(worker, ada, 0.6, leagues=["free"])
    unknown = ada.submit(make_zip(salt="unknown"), leagues=["nowhere", "free"])
    assert unknown.status_code == 422
    assert "no league nowhere. Leagues: free" in unknown.json()["message"]
    add_league(site, "later", admission=Admission.DECLARED, opens_at=now() + timedelta(days=1))
    early = ada.submit(make_zip(salt="early"), leagues=["later"])
    assert early.status_code == 409 and "The league Later opens at " in early.json()["message"]


def join_team(site: Site, captain: Person, other: Person) -> None:
    """Put somebody into a captain's team, as accepting an invitation does."""
    from sqlalchemy import select

    from anyshot_platform.contest.competitions.models import Membership
    from anyshot_platform.people.teams.actions import joining
    from anyshot_platform.people.teams.models import Team

    with site.services.database.writing() as session:
        competition = site.competition(session)
        competition.team_size = 5
        mine = session.scalars(select(Membership).where(Membership.user_id == captain.id)).one()
        team = session.get_one(Team, mine.team_id)
        joining.invite(session, competition, team, captain.id, other.username)
        (invitation,) = joining.open_invitations(session, user_id=other.id, competition_id=competition.id)
        joining.answer(session, competition, other.id, invitation.id, accept=True)
