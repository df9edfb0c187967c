"""A team is in the ranking or out of it as its members and the organizers say, not as the last act left it."""

from typing import Any

import pytest

from anyshot_platform.actions.declaration import ActRequest
from anyshot_platform.actions.service import preview
from anyshot_platform.contest.competitions.actions.member_acts import ROLE, RoleChoice
from anyshot_platform.contest.competitions.states import Role
from tests.platform.admin.test_manage import post
from tests.platform.entries.test_entries import scored
from tests.platform.entries.test_members import HERE, PEOPLE, membership_of, move, team_of, team_up
from tests.platform.site import Person, Site

JOINS, STAYS = "The team %s joins the ranking.", "The team %s stays out of the ranking."


@pytest.fixture
def site(site: Site) -> Site:
    """The competition has teams of three."""
    with site.services.database.writing() as session:
        site.competition(session).team_size = 3
    return site


def ranks(site: Site) -> dict[str, int | None]:
    return {row["team"]: row["rank"] for row in site.board("free")["rows"]}


def give(site: Site, person: Person, role: Role) -> list[str]:
    """Give a role; what the act says beforehand that it does."""
    with site.services.database.reading() as session:
        membership = membership_of(session, site, person)
        where = f"{PEOPLE}/{membership.id}/acts/role"
        asked = preview(session, ROLE, membership, ActRequest(site.owner_id, options=RoleChoice(role=role)))
    done = site.owner().call("POST", where, json={"role": role.value, "confirm": person.username})
    assert done.status_code == 200, done.text
    return list(asked.does)


def said(answer: Any) -> list[str]:
    assert answer.status_code == 409, answer.text
    return answer.json()["preview"]["does"]


def take_out(site: Site, person: Person, *, out: bool = True) -> None:
    with site.services.database.reading() as session:
        where = f"{PEOPLE}/{membership_of(session, site, person).id}/quota"
    body = {"day": 0, "phase": 0, "out_of_ranking": out, "reason": "of our laboratory"}
    assert site.owner().call("PUT", where, json=body).is_success


def test_moving_an_organizer_back_brings_the_team_back_into_the_ranking(site: Site) -> None:
    """The act's own undo left the team out of the ranking."""
    ada, otto = site.member("ada"), site.member("otto", Role.ORGANIZER)
    scored(site.worker(), ada, 0.4)
    assert move(site, otto, "ada").status_code == 200
    assert ranks(site) == {"ada": None}
    assert JOINS % "ada" in said(move(site, otto, confirm=""))
    assert move(site, otto).status_code == 200
    assert ranks(site) == {"ada": 1}
    scored(site.worker("second"), otto, 0.9)
    assert ranks(site) == {"otto": None, "ada": 1}


def test_a_team_that_organizers_took_out_stays_out_whoever_goes(site: Site) -> None:
    ada, otto = site.member("ada"), site.member("otto", Role.ORGANIZER)
    scored(site.worker(), ada, 0.4)
    take_out(site, ada)
    assert move(site, otto, "ada").status_code == 200
    assert JOINS % "ada" not in said(move(site, otto, confirm=""))
    assert move(site, otto).status_code == 200
    assert ranks(site) == {"ada": None}
    take_out(site, ada, out=False)
    assert ranks(site) == {"ada": 1}


def test_a_team_of_two_organizers_stays_out_until_both_are_participants(site: Site) -> None:
    """One of them got the role participant, and the team joined the ranking with an organizer still in it."""
    otto, olly = site.member("otto", Role.ORGANIZER), site.member("olly", Role.ORGANIZER)
    team_up(otto, olly)
    scored(site.worker(), otto, 0.4)
    assert STAYS % "otto" in give(site, olly, Role.PARTICIPANT)
    assert ranks(site) == {"otto": None}
    assert JOINS % "otto" in give(site, otto, Role.PARTICIPANT)
    assert ranks(site) == {"otto": 1}
    assert "The team otto leaves the ranking." in give(site, olly, Role.REVIEWER)
    assert ranks(site) == {"otto": None}


def test_a_team_is_ranked_once_its_organizer_has_left_it(site: Site) -> None:
    ada, otto = site.member("ada"), site.member("otto", Role.ORGANIZER)
    team_up(otto, ada)
    assert post(otto, f"{HERE}/team/leave").status_code == 303
    assert (team_of(site, ada), team_of(site, otto) == "otto") == ("otto", False)
    scored(site.worker(), ada, 0.4)
    assert ranks(site) == {"otto": 1}
