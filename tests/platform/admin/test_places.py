"""Places of people who came with a competition: two receptions of it, what a place replaces, what an account leaves."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from anyshot_platform.accounts.service import erase_user
from anyshot_platform.audit.models import AuditEntry
from anyshot_platform.competitions.models import Competition, Membership, Placeholder
from anyshot_platform.competitions.service import add_member
from anyshot_platform.competitions.states import Role
from anyshot_platform.database import now
from anyshot_platform.entries.models import LeagueAnswer
from anyshot_platform.leagues.models import League
from anyshot_platform.teams.models import Team
from anyshot_platform.users.models import User
from tests.platform.admin.test_manage import page, post
from tests.platform.admin.test_transfers import (  # noqa: F401 the fixtures
    Elsewhere,
    bring,
    other,
    person_of,
    played,
    publish,
    take,
)
from tests.platform.entries.test_members import team_up
from tests.platform.site import SLUG, Person, Site

PLACES = "/api/v1/me/places"
GUESTS = f"/api/v1/competitions/{SLUG}/manage/placeholders"


def code_of(site: Site, name: str) -> str:
    (mine,) = person_of(site, name).call("GET", PLACES).json()["codes"]
    return mine["code"]


def claim(person: Person, **how: str) -> Any:
    return person.call("POST", PLACES, json=how)


def joined(other: Elsewhere, name: str) -> Person:  # noqa: F811
    """Somebody who was in the new site's competition before they claim a place in it."""
    person = other.person(name)
    with other.services.database.writing() as session:
        competition = session.scalars(select(Competition).where(Competition.slug == SLUG)).one()
        add_member(session, competition, session.get_one(User, person.id), Role.PARTICIPANT)
    return person


@pytest.mark.seconds("two sites")
def test_an_archive_that_was_tried_first_leaves_everybody_their_place_in_the_final_one(
    played: Site,  # noqa: F811
    other: Elsewhere,  # noqa: F811
) -> None:
    """The code is the same in both: whoever showed it met an error page, and nobody could mend it."""
    content, dora = take(played), other.person("dora")
    assert bring(dora, content, "trial").status_code == bring(dora, content, "twin").status_code == 201
    lovelace, code = other.person("lovelace"), code_of(played, "ada")
    assert claim(lovelace, code=code).json()["competition"] == "twin"  # the newest
    assert claim(lovelace, code=code).json()["competition"] == "trial"
    assert claim(lovelace, code=code).status_code == 409
    bert, code = other.person("bert"), code_of(played, "ben")
    with other.services.database.writing() as session:
        session.scalars(select(Competition).where(Competition.slug == "twin")).one().deleted_at = now()
    assert claim(bert, code=code).json()["competition"] == "trial"


def test_who_joined_there_first_and_answered_a_league_gets_their_place(
    played: Site,  # noqa: F811
    other: Elsewhere,  # noqa: F811
) -> None:
    assert bring(other.person("dora"), take(played)).status_code == 201
    lovelace = joined(other, "lovelace")
    with other.services.database.writing() as session:
        mine = session.scalars(select(Membership).where(Membership.user_id == lovelace.id)).one()
        league = session.scalars(select(League).where(League.competition_id == mine.competition_id)).first()
        assert league is not None
        session.add(LeagueAnswer(league_id=league.id, membership_id=mine.id, team_id=mine.team_id))
    claimed = claim(lovelace, code=code_of(played, "ada"))
    assert (claimed.status_code, claimed.json()) == (200, {"competition": SLUG, "role": "participant"})


@pytest.mark.seconds("two sites")
def test_a_team_goes_on_without_the_member_who_takes_another_place(
    played: Site,  # noqa: F811
    other: Elsewhere,  # noqa: F811
) -> None:
    """It was dissolved under the others: what they submitted from then on never stood on a board."""
    dora = other.person("dora")
    assert bring(dora, take(played)).status_code == 201
    publish(other, dora)
    lovelace, bea, eve = (joined(other, name) for name in ("lovelace", "bea", "eve"))
    with other.services.database.writing() as session:
        session.scalars(select(Competition).where(Competition.slug == SLUG)).one().team_size = 3
    team_up(lovelace, bea)
    assert claim(lovelace, code=code_of(played, "ada")).status_code == 200
    team_up(bea, eve)  # the team's captain now
    assert post(eve, f"/competitions/{SLUG}/team/leave").status_code == 303
    assert claim(bea, code=code_of(played, "ben")).status_code == 200
    with other.services.database.reading() as session:
        team = session.scalars(select(Team).where(Team.name == "lovelace")).one()
        assert team.deleted_at is not None and team.name_key == team.id  # nobody is left, its name is free


def test_a_deleted_account_leaves_neither_address_nor_name_in_its_place(
    played: Site,  # noqa: F811
    other: Elsewhere,  # noqa: F811
) -> None:
    with played.services.database.writing() as session:
        session.get_one(User, played.owner_id).is_site_admin = True
        ada = session.query(User).filter_by(username="ada").one()
        ada.display_name, ada.affiliation = "Ada King", "Ockham Park"
        ada.email, ada.email_key, ada.email_verified_at = "ada@example.com", "ada@example.com", now()
    dora = other.person("dora")
    assert bring(dora, take(played, emails=True)).status_code == 201
    lovelace = other.person("lovelace", email="ada@example.com", email_key="ada@example.com")
    assert claim(lovelace, competition=SLUG).status_code == 200
    with other.services.database.reading() as session:
        place = session.query(Placeholder).filter_by(claimed_by=lovelace.id).one()
        assert place.email_key is None  # it has served
        (noted,) = session.query(AuditEntry).filter_by(action="competition.claim")
        assert noted.after == {"by": "address"}
    with other.services.database.writing() as session:
        erase_user(session, session.get_one(User, lovelace.id))
    (row,) = [row for row in dora.call("GET", GUESTS).json() if row["claimed_by"]]
    pseudonym = f"deleted-{lovelace.id[-12:]}"
    assert row["name"] == row["claimed_by"] == pseudonym
    assert not row["username"].startswith("ada")
    assert "Ada King" not in (shown := page(dora, f"/competitions/{SLUG}/manage/import").text)
    assert ">ada<" not in shown and pseudonym in shown
    with other.services.database.reading() as session:
        keeper = session.get_one(User, place.user_id)
        assert not (keeper.display_name or keeper.affiliation)
