"""Teams of one, and the names on the board."""

from collections.abc import Sequence
from itertools import chain, count

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import MemberStatus
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Conflict, Invalid
from anyshot_platform.foundation.texts import is_visible, name_key
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User


def check_team_name(name: str) -> str:
    """Return the name without outer blanks; raise `Invalid` if it breaks the rules."""
    name = " ".join(name.split())
    if not 2 <= len(name) <= 64 or not is_visible(name):
        raise Invalid("A team's name has 2 to 64 printable characters.", field="name")
    return name


def name_is_free(session: Session, competition_id: str, name: str) -> bool:
    """Whether no team of the competition has the name."""
    taken = select(Team.id).where(Team.competition_id == competition_id, Team.name_key == name_key(name))
    return session.scalar(taken) is None


def members_here(session: Session, team: Team) -> Sequence[Membership]:
    """Who takes part in a team: admitted, and with an account that was not deleted; who came first, first."""
    query = (
        select(Membership)
        .join(User, User.id == Membership.user_id)
        .where(
            Membership.team_id == team.id,
            Membership.status == MemberStatus.APPROVED,
            User.deleted_at.is_(None),
        )
    )
    return session.scalars(query.order_by(Membership.created_at, Membership.id)).all()


def keep_captained(session: Session, team: Team) -> None:
    """Where the captain takes part no more, who came first of those who do is captain."""
    session.flush()
    here = [member.user_id for member in members_here(session, team)]
    if here and team.captain_id not in here:
        team.captain_id = here[0]


def dissolve(session: Session, team: Team, *, submitted: bool) -> None:
    """End a team that nobody is left in. One that never submitted gives its name free."""
    team.deleted_at = now()
    if not submitted:
        team.name_key = team.id
    session.flush()


def make_solo_team(
    session: Session, membership: Membership, user: User, pseudonym: str | None = None
) -> Team:
    """A team of one: the person's own of before where it was dissolved, else a new one.

    A new one is named by the pseudonym or else by the user's name.
    """
    team = _own_of_before(session, membership)
    if team is None:
        name = _free_name(session, membership, user, pseudonym)
        team = Team(
            competition_id=membership.competition_id,
            name=name,
            name_key=name_key(name),
            captain_id=user.id,
        )
        session.add(team)
    else:
        if team.name_key != name_key(team.name) and not name_is_free(session, team.competition_id, team.name):
            team.name = _free_name(session, membership, user)
        team.name_key, team.deleted_at = name_key(team.name), None
    session.flush()
    membership.team_id = team.id
    return team


def _own_of_before(session: Session, membership: Membership) -> Team | None:
    """The team that was dissolved when this person, its last member, went to another one."""
    query = select(Team).where(
        Team.competition_id == membership.competition_id,
        Team.captain_id == membership.user_id,
        Team.deleted_at.is_not(None),
    )
    return session.scalars(query.order_by(Team.deleted_at.desc()).limit(1)).first()


def _free_name(session: Session, membership: Membership, user: User, pseudonym: str | None = None) -> str:
    if pseudonym:
        name = check_team_name(pseudonym)
        if not name_is_free(session, membership.competition_id, name):
            raise Conflict("Another team has this name.", field="pseudonym")
        return name
    return free_name(session, membership.competition_id, user.username)


def free_name(session: Session, competition_id: str, name: str) -> str:
    """`name`, or the first of `name (2)`, `name (3)`, ... that no team of the competition has."""
    candidates = chain([name], (f"{name} ({number})" for number in count(2)))
    return next(text for text in candidates if name_is_free(session, competition_id, text))
