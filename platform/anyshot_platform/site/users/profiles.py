"""Somebody's profile for a viewer: what they say of themselves, and where their teams stand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.judging.visibility.access import find_access, listed_for
from anyshot_platform.judging.visibility.people import require_known, sees_profile
from anyshot_platform.people.accounts.service import find_by_name
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.standings.leaderboards.standings import TeamStanding, read_standings

_MOST = 50  # competitions


@dataclass(frozen=True)
class Participation:
    """A competition that somebody takes part in, and where their team stands on the boards that the viewer may see."""

    competition: Annotated[str, Field(description="the competition's short name")]
    title: Annotated[str, Field(exclude=True)]
    team_id: str
    team: str
    standings: list[TeamStanding]


@dataclass(frozen=True)
class Profile:
    """A person; of one who keeps their profile to themselves, nothing but the name is `shown`."""

    user: User
    shown: bool
    own: bool
    participations: Sequence[Participation]


def read_profile(session: Session, viewer: Viewer, username: str) -> Profile:
    """The profile of that user name; raises `NotFound`."""
    user = require_known(find_by_name(session, username))
    shown = sees_profile(viewer, user)
    return Profile(
        user, shown, viewer.user_id == user.id, _participations(session, viewer, user) if shown else ()
    )


def _participations(session: Session, viewer: Viewer, user: User) -> list[Participation]:
    rows = session.execute(
        select(Competition, Team)
        .join(Membership, Membership.competition_id == Competition.id)
        .join(Team, Team.id == Membership.team_id)
        .where(
            Membership.user_id == user.id,
            Membership.status == MemberStatus.APPROVED,
            Membership.role == Role.PARTICIPANT,
            Competition.deleted_at.is_(None),
            Team.deleted_at.is_(None),
            listed_for(viewer),
        )
        .order_by(Membership.created_at.desc())
        .limit(_MOST)
    )
    return [
        Participation(
            competition.slug,
            competition.title,
            team.id,
            team.name,
            read_standings(session, find_access(session, viewer, competition), team),
        )
        for competition, team in rows
    ]
