"""Members of teams: their names when a team breaks up, the organizers' act of moving one, who does not take part."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from anyshot_core.command import main
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.service import find_membership
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.contest.leagues.states import Admission
from anyshot_platform.contest.phases.states import PhaseKind
from anyshot_platform.foundation.database import now
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.people.notifications.service import list_notifications
from anyshot_platform.people.teams.models import Team
from tests.platform.admin.test_manage import BASE, flash, page, post
from tests.platform.entries.test_entries import ENTRIES, LEAGUES, add_league, names, scored
from tests.platform.site import SLUG, Person, Site, make_zip
from tests.services.processes import free_port
from tests.services.sites import served

HERE = f"/competitions/{SLUG}"
PEOPLE = f"/api/v1/competitions/{SLUG}/manage/people"


@pytest.fixture
def site(site: Site) -> Site:
    """The competition has teams of three."""
    with site.services.database.writing() as session:
        site.competition(session).team_size = 3
    return site


def team_up(captain: Person, other: Person, *, accepted: bool = True) -> None:
    """The other accepts the captain's invitation."""
    assert post(captain, f"{HERE}/team/invite", username=other.username).status_code == 303
    (link,) = re.findall(r'action="([^"]+/invitations/\w+/accept)"', page(other, f"{HERE}/team").text)
    assert (post(other, link).status_code == 303) == accepted


def name_team(captain: Person, name: str) -> int:
    return post(captain, f"{HERE}/team/name", name=name).status_code


def team_of(site: Site, person: Person) -> str:
    with site.services.database.reading() as session:
        return session.get_one(Team, membership_of(session, site, person).team_id).name


def membership_of(session: Any, site: Site, person: Person) -> Membership:
    found = find_membership(session, site.competition(session).id, person.id)
    assert found is not None
    return found


def set_status(site: Site, person: Person, status: MemberStatus) -> None:
    with site.services.database.writing() as session:
        membership_of(session, site, person).status = status


def move(site: Site, person: Person, team: str = "", **said: Any) -> Any:
    """Over JSON, confirmed by name."""
    with site.services.database.reading() as session:
        row = membership_of(session, site, person).id
    body = {"team": team, "confirm": person.username, **said}
    return site.owner().call("POST", f"{PEOPLE}/{row}/acts/move", json=body)


def test_every_member_sees_the_pages_whatever_became_of_them(site: Site) -> None:
    ada = site.member("ada")
    words = {
        MemberStatus.REJECTED: "The organizers declined your registration. Only they can admit you.",
        MemberStatus.INVITED: "The organizers invite you. Accept or decline under Account",
        MemberStatus.BANNED: "The organizers have closed this competition to you.",
        MemberStatus.PENDING: "The organizers have your request",
    }
    for status in MemberStatus:
        set_status(site, ada, status)
        for path in ("", "/join", "/leaderboard", "/phases/feedback", "/announcements", "/discussion"):
            assert page(ada, HERE + path).status_code == 200, (status, path)
        assert words.get(status, "") in page(ada, f"{HERE}/join").text


def test_who_is_invited_is_led_to_the_answer_and_who_was_declined_is_told(site: Site) -> None:
    ada = site.member("ada")
    set_status(site, ada, MemberStatus.INVITED)
    assert 'href="/account/teams"' in page(ada, HERE).text and "Answer the invitation" in page(ada, HERE).text
    set_status(site, ada, MemberStatus.REJECTED)
    shown = page(ada, HERE).text
    assert (
        "registration declined" in shown and f'href="{HERE}/join">' not in shown.split("comphead__actions")[1]
    )


def test_who_takes_part_under_a_pseudonym_keeps_it_when_they_leave_a_team(site: Site) -> None:
    """Leaving a team would else have put their user name on the board."""
    bea, ben = site.member("bea"), site.member("ben")
    assert name_team(ben, "Nobody") == 303
    team_up(bea, ben)
    post(ben, f"{HERE}/team/leave")
    assert team_of(site, ben) == "Nobody"


def test_who_passed_a_smoke_test_alone_may_still_team_up_and_take_another_name(site: Site) -> None:
    """The guide has a smoke test before the first submission, which uses no quota: it bound its team for good."""
    site.offer_smoke_tests()
    bea, ben = site.member("bea"), site.member("ben")
    for person in (bea, ben):
        assert person.submit(make_zip(salt=person.username), smoke=True).status_code == 201
    assert name_team(ben, "Nobody") == 303
    team_up(bea, ben)
    assert team_of(site, ben) == "bea"
    shown = page(ben, f"{HERE}/team").text
    assert "Smoke tests stay with this team." in shown and "a second quota" not in shown
    assert post(ben, f"{HERE}/team/leave").status_code == 303
    assert team_of(site, ben) == "Nobody"


def test_a_team_that_has_submitted_offers_no_button_to_leave_it(site: Site) -> None:
    """It said that submissions stay with the team, and pressing was refused."""
    bea, ben = site.member("bea"), site.member("ben")
    team_up(bea, ben)
    assert f'action="{HERE}/team/leave"' in page(ben, f"{HERE}/team").text
    bea.submit()
    shown = page(ben, f"{HERE}/team").text
    assert "Leaving now would give you a second quota: ask the organizers" in " ".join(shown.split())
    assert f'action="{HERE}/team/leave"' not in shown


def test_the_name_of_a_dissolved_team_that_never_submitted_is_free(site: Site) -> None:
    bea, ben = site.member("bea"), site.member("ben")
    name_team(ben, "Alpha")
    team_up(bea, ben)
    assert name_team(bea, "alpha") == 303
    post(ben, f"{HERE}/team/leave")
    assert (team_of(site, bea), team_of(site, ben)) == ("alpha", "ben")


def test_an_invitation_of_a_team_that_was_dissolved_is_there_no_more(site: Site) -> None:
    """The page was still open: ben sat in a team that stands nowhere, and could not leave it."""
    ada, bea, ben = site.member("ada"), site.member("bea"), site.member("ben")
    assert post(bea, f"{HERE}/team/invite", username="ben").status_code == 303
    (link,) = re.findall(r'action="([^"]+/invitations/\w+/accept)"', page(ben, f"{HERE}/team").text)
    team_up(ada, bea)
    assert post(ben, link).status_code == 404
    assert (team_of(site, bea), team_of(site, ben)) == ("ada", "ben")


@pytest.mark.parametrize("role", ["reviewer", "organizer", "owner"])
def test_who_is_invited_to_organize_does_not_compete_by_joining(site: Site, role: str) -> None:
    """They became organizers with a team in the ranking, and no word of it in the log."""
    eve = site.person("eve")
    body = {"username": "eve", "role": role, "confirm": "eve"}
    assert site.owner().call("POST", PEOPLE, json=body).status_code in (200, 201)
    refused = eve.call("POST", f"/api/v1{HERE}/join", json={"accepts_terms": True})
    assert (refused.status_code, refused.json()["error"]) == (403, "cannot_join")
    assert "You are invited; accept first" in refused.json()["message"]
    assert post(eve, f"{HERE}/join", accepts_terms="1").status_code == 403
    with site.services.database.reading() as session:
        invited = membership_of(session, site, eve)
        assert (invited.status, invited.team_id) == (MemberStatus.INVITED, None)


def test_an_organizer_does_not_compete_by_joining_a_team(site: Site) -> None:
    bea, otto = site.member("bea"), site.member("otto", Role.ORGANIZER)
    team_up(bea, otto, accepted=False)
    assert team_of(site, otto) == "otto"


def test_an_organizer_who_leaves_a_team_stays_out_of_the_ranking(site: Site) -> None:
    otto, olly = site.member("otto", Role.ORGANIZER), site.member("olly", Role.ORGANIZER)
    team_up(otto, olly)
    with site.services.database.writing() as session:  # the old one is gone: theirs is new
        session.query(Team).filter_by(name="olly").one().captain_id = None
    post(olly, f"{HERE}/team/leave")
    scored(site.worker(), olly, 0.9, leagues=["free"])
    assert [row["rank"] for row in site.board("free")["rows"]] == [None]


def test_a_member_is_moved_and_what_their_team_submitted_stays_with_it(site: Site) -> None:
    worker, ada, bea, ben = site.worker(), site.member("ada"), site.member("bea"), site.member("ben")
    team_up(bea, ben)
    scored(worker, ben, 0.5)
    scored(worker, ada, 0.4)
    assert (
        "Leaving now would give you a second quota: ask the organizers"
        in post(ben, f"{HERE}/team/leave").text
    )
    asked = move(site, ben, "ada", confirm="")
    assert (asked.status_code, asked.json()["error"]) == (409, "confirm")
    assert asked.json()["preview"]["does"] == [
        "The person shares the quota and the entries of “ada” from now on.",
        "What “bea” submitted stays its own: 1 submission.",
    ]
    assert team_of(site, ben) == "bea"
    moved = move(site, ben, "ADA", reason="They write the paper with ada.")
    assert (moved.status_code, moved.json()["team"]["name"]) == (200, "ada")
    assert names(site, "free") == [("bea", 0.5), ("ada", 0.4)]
    assert [row["number"] for row in ben.call("GET", ENTRIES).json()] == [1]  # ada's
    assert log_of(site, "member.move") == [
        ({"team": "bea"}, {"team": "ada"}, "They write the paper with ada.")
    ]
    for person, words in [
        (ben, "moved you from “bea” to “ada”"),
        (ada, "moved ben to your team"),
        (bea, "moved ben out of your team"),
    ]:
        assert words in told(site, person), person.username


def told(site: Site, person: Person) -> str:
    """The titles of a person's messages."""
    with site.services.database.reading() as session:
        return "\n".join(row.title for row in list_notifications(session, person.id))


def log_of(site: Site, action: str) -> list[tuple[Any, Any, str]]:
    with site.services.database.reading() as session:
        rows = session.query(AuditEntry).filter_by(action=action).order_by(AuditEntry.id).all()
        return [(row.before, row.after, row.reason) for row in rows]


def test_the_last_member_takes_the_team_off_the_boards_and_going_back_brings_it_back(site: Site) -> None:
    worker, ada, ben = site.worker(), site.member("ada"), site.member("ben")
    scored(worker, ada, 0.4)
    scored(worker, ben, 0.5)
    asked = move(site, ben, "ada", confirm="").text
    assert "“ben” has nobody left and is dissolved. Its entries leave the boards (1 submission)." in asked
    assert move(site, ben, "ada").status_code == 200
    assert names(site, "free") == [("ada", 0.4)]
    assert move(site, ben).json()["team"]["name"] == "ben"
    assert names(site, "free") == [("ben", 0.5), ("ada", 0.4)]


def test_the_league_asks_who_was_moved_for_what_the_team_hands_in_then(site: Site) -> None:
    add_league(
        site,
        "women",
        admission=Admission.APPROVAL,
        every_member_qualifies=True,
        questions=[{"key": "woman", "label": "I identify as a woman."}],
    )
    owner, worker = site.owner(), site.worker()
    ada, bea, eva = site.member("ada"), site.member("bea"), site.member("eva")
    team_up(bea, eva)
    for person in (ada, bea, eva):
        said = {"answers": {"woman": "yes"}}
        assert person.call("PUT", f"{LEAGUES}/women/answers", json=said).status_code in (200, 204)
    scored(worker, ada, 0.4, leagues=["women"])
    scored(worker, bea, 0.5, leagues=["women"])
    decide(owner, "admit")
    assert names(site, "women") == [("bea", 0.5), ("ada", 0.4)]
    asked = move(site, eva, "ada", confirm="").text
    assert "The league Women asks this person for what “ada” hands in from now on" in asked
    assert move(site, eva, "ada").status_code == 200
    assert names(site, "women") == [("bea", 0.5), ("ada", 0.4)], "entries are of who handed them in"
    scored(worker, ada, 0.6, leagues=["women"])
    held = ada.call("GET", ENTRIES).json()
    assert [(row["state"], row["reason"]) for row in held] == [
        ("held_back", "eva must answer the questions of the league.")
    ]
    assert "ada is in the league Women: please answer its questions" in told(site, eva)
    assert "please answer" not in told(site, ada)  # she has
    eva.call("PUT", f"{LEAGUES}/women/answers", json={"answers": {"woman": "yes"}})
    decide(owner, "admit")
    assert names(site, "women") == [("ada", 0.6), ("bea", 0.5)]


def decide(owner: Person, act_name: str) -> None:
    rows = owner.call("GET", f"/api/v1/competitions/{SLUG}/manage/leagues/teams").json()
    body = {
        "league": "women",
        "teams": [row["team"] for row in rows],
        "admit": act_name == "admit",
        "reason": "",
    }
    answer = owner.call("POST", f"/api/v1/competitions/{SLUG}/manage/leagues/teams/decide", json=body)
    assert answer.status_code == 200, answer.text


def test_a_full_team_takes_one_more_only_by_name_and_organizers_take_theirs_out_of_the_ranking(
    site: Site,
) -> None:
    ada, ben, otto = site.member("ada"), site.member("ben"), site.member("otto", Role.ORGANIZER)
    scored(site.worker(), ada, 0.4)
    with site.services.database.writing() as session:
        site.competition(session).team_size = 1
    refused = move(site, ben, "ada")
    assert (refused.status_code, "Teams have at most 1 member here." in refused.text) == (409, True)
    assert move(site, ben, "ada", override=True).status_code == 200
    assert move(site, otto, "ada", override=True).status_code == 200
    assert [row["rank"] for row in site.board("free")["rows"]] == [None]


def test_the_page_moves_and_says_what_is_wrong(site: Site) -> None:
    ada, ben, owner = site.member("ada"), site.member("ben"), site.owner()
    with site.services.database.reading() as session:
        here = f"{BASE}/people/{membership_of(session, site, ben).id}/move"
    assert f'action="{here}"' in page(owner, f"{BASE}/people").text
    assert "There is no team “nowhere”." in flash(post(owner, here, team="nowhere"))
    assert flash(post(owner, here, team="")) == "This person has a team of their own already."
    assert flash(post(owner, here, team="ada")) == "Moved to “ada”."
    assert flash(post(owner, here, team="ada")) == "This person is in “ada” already."
    assert (team_of(site, ben), team_of(site, ada)) == ("ada", "ada")


@pytest.fixture
def where(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with served(site.app, free_port()) as address:
        yield address


def test_the_command_moves_and_lists(site: Site, where: str) -> None:
    ada, ben = site.member("ada"), site.member("ben")
    scored(site.worker(), ben, 0.5)

    def run(*words: str) -> Any:
        return CliRunner().invoke(
            main, ["organize", *words, "--server", where, "--token", site.owner().token]
        )

    move = ("do", SLUG, "member.move")
    assert "There is no member “bob”" in run(*move, "bob", "--set", "team=").output
    done = run(*move, "ben", "--set", "team=ada", "--yes", "ben", "--reason", "asked for")
    assert (done.exit_code, json.loads(done.stdout)["team"]["name"]) == (0, "ada"), done.output
    people = run("show", "people", SLUG, "--only", "username,role,status,team.name")
    assert "ben\tparticipant\tapproved\tada" in people.output.splitlines()
    alone = run(*move, "ben", "--set", "team=", "--yes", "ben")
    assert json.loads(alone.stdout)["team"]["name"] == "ben"
    assert json.dumps(log_of(site, "member.move")).count("ben") == 2 and team_of(site, ada) == "ada"


def rename(who: Person, team: str, name: str, **said: Any) -> Any:
    path = f"/api/v1/competitions/{SLUG}/manage/teams/{team}/acts/rename"
    return who.call("POST", path, json={"name": name, **said})


def test_organizers_rename_a_team_that_has_submitted_and_its_members_hear(site: Site) -> None:
    """The team's page says that they can, where its captain no longer can."""
    worker, bea, ben, ada = site.worker(), site.member("bea"), site.member("ben"), site.member("ada")
    team_up(bea, ben)
    scored(worker, bea, 0.5)
    scored(worker, ada, 0.4)
    assert "The organizers can change it." in page(bea, f"{HERE}/team").text
    assert name_team(bea, "Few") == 409
    asked = rename(site.owner(), "bea", "Few")
    assert (asked.status_code, asked.json()["error"]) == (409, "confirm")
    shown = asked.json()["preview"]
    assert (shown["does"], shown["told"], shown["name"]) == (
        ["Leaderboards and pages show “Few” from now on."],
        2,
        "bea",
    )
    assert names(site, "free") == [("bea", 0.5), ("ada", 0.4)]
    done = rename(site.owner(), "bea", " Few ", confirm="bea", reason="bea is no team")
    assert (done.status_code, done.json()["name"]) == (200, "Few")
    assert names(site, "free") == [("Few", 0.5), ("ada", 0.4)]
    assert "<h1>Few</h1>" in page(ben, f"{HERE}/team").text
    assert log_of(site, "team.rename") == [({"name": "bea"}, {"name": "Few"}, "bea is no team")]
    for person in (bea, ben):
        assert "the organizers renamed your team from “bea” to “Few”" in told(site, person)
    assert "renamed" not in told(site, ada)
    assert rename(site.owner(), "few", "bea", confirm="Few").json()["changed"]  # the way back
    assert names(site, "free") == [("bea", 0.5), ("ada", 0.4)]


def test_only_organizers_rename_a_team_and_only_to_a_free_name_of_this_competition(site: Site) -> None:
    ada, ben, rita = site.member("ada"), site.member("ben"), site.member("rita", Role.REVIEWER)
    for one, status in ((ada, 403), (rita, 403)):
        assert rename(one, "ben", "Beta").status_code == status
    taken = rename(site.owner(), "ben", "ＡＤＡ")
    assert (taken.status_code, taken.json()["message"]) == (409, "Another team has this name.")
    assert rename(site.owner(), "ben", "b").status_code == 422
    assert rename(site.owner(), "nobody", "Beta").status_code == 404
    assert (team_of(site, ada), team_of(site, ben)) == ("ada", "ben")


def test_the_page_of_people_and_the_command_rename_a_team(site: Site, where: str) -> None:
    ada, owner = site.member("ada"), site.owner()
    scored(site.worker(), ada, 0.5)
    (there,) = re.findall(
        r'action="([^"]+/rename)" (?=.*?value="ada")', page(owner, f"{BASE}/people").text, re.S
    )[:1]
    assert "2 to 64 printable characters" in flash(post(owner, there, name="a"))
    asked = " ".join(post(owner, there, name="Alpha", reason="a wish").text.split())
    assert "Rename “ada”?" in asked and "1 person will get a message about it." in asked
    assert 'value="a wish"' in asked and "Reason (the team sees it)" in asked
    done = post(owner, there, name="Alpha", reason="a wish", confirm="ada")
    assert flash(done) == "The team is called “Alpha” now."
    assert (team_of(site, ada), names(site, "free")) == ("Alpha", [("Alpha", 0.5)])
    words = ["organize", "do", SLUG, "team.rename", "Alpha", "--set", "name=Omega", "--yes", "Alpha"]
    ran = CliRunner().invoke(main, [*words, "--server", where, "--token", owner.token])
    assert (ran.exit_code, json.loads(ran.stdout)["name"]) == (0, "Omega"), ran.output
    assert team_of(site, ada) == "Omega"


def test_renaming_after_the_results_says_what_keeps_the_old_name(site: Site) -> None:
    ada = site.member("ada")
    scored(site.worker(), ada, 0.5)
    site.set_phase(kind=PhaseKind.FINAL, needs_publishing=True, published_at=now())
    (warning,) = rename(site.owner(), "ada", "Alpha").json()["preview"]["warnings"]
    assert "certificates that were downloaded keep the old name" in warning
