"""Teams of one, and the names on the board."""

from __future__ import annotations

from itertools import chain, count

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.competitions.models import Membership
from anyshot_platform.errors import Conflict, Invalid
from anyshot_platform.teams.models import Team
from anyshot_platform.users.models import User


def check_team_name(name: str) -> str:
    """Return the name without outer blanks; raise `Invalid` if it breaks the rules."""
    name = " ".join(name.split())
    if not 2 <= len(name) <= 64 or not name.isprintable():
        raise Invalid("A team's name has 2 to 64 printable characters.", field="name")
    return name


def name_is_free(session: Session, competition_id: str, name: str) -> bool:
    """Whether no team of the competition has the name."""
    taken = select(Team.id).where(Team.competition_id == competition_id, Team.name_key == name.casefold())
    return session.scalar(taken) is None


def make_solo_team(
    session: Session, membership: Membership, user: User, pseudonym: str | None = None
) -> Team:
    """A team of one for a new participant, under a pseudonym or else the user's name."""
    if pseudonym:
        name = check_team_name(pseudonym)
        if not name_is_free(session, membership.competition_id, name):
            raise Conflict("Another team has this name.", field="pseudonym")
    else:
        candidates = chain([user.username], (f"{user.username} ({number})" for number in count(2)))
        name = next(text for text in candidates if name_is_free(session, membership.competition_id, text))
    team = Team(
        competition_id=membership.competition_id,
        name=name,
        name_key=name.casefold(),
        solo=True,
        captain_id=user.id,
    )
    session.add(team)
    session.flush()
    membership.team_id = team.id
    return team
