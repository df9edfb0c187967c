"""A team as others see it: its name, the members who let themselves be named, where it stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.visibility.people import sees_members, sees_profile
from anyshot_platform.people.teams.actions.joining import list_members
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_platform.standings.leaderboards.standings import TeamStanding, read_standings


@dataclass(frozen=True)
class TeamView:
    """A team and its standings; `others` says that there are members who are not named."""

    team: Team
    members: Sequence[User]
    others: bool
    standings: Sequence[TeamStanding]
    about: Mapping[
        str, str
    ]  # user name of a member -> affiliation and country, as far as the viewer sees them

    @property
    def best(self) -> TeamStanding | None:
        """The standing of the best rank, the newest phase first among equal ones."""
        ranked = [one for one in self.standings if one.rank is not None]
        return min(ranked, key=lambda one: one.rank or 0, default=None)


def read_team(session: Session, access: CompetitionAccess, team_id: str) -> TeamView:
    """The team for this viewer; raises `NotFound` where it stands on no board that they may see, and is not theirs."""
    team = session.get(Team, team_id)
    known = team is not None and team.competition_id == access.competition.id and team.deleted_at is None
    everybody = known and sees_members(access, team_id)
    standings = read_standings(session, access, team) if known and team is not None else []
    if team is None or not known or not (standings or everybody):
        raise NotFound("There is no such team on a leaderboard that you can see.")
    people = [user for _, user in list_members(session, team) if user.deleted_at is None]
    named = [user for user in people if everybody or sees_profile(access.viewer, user)]
    about = {
        user.username: ", ".join(word for word in (user.affiliation, user.country) if word)
        for user in named
        if sees_profile(access.viewer, user)
    }
    return TeamView(team, named, len(named) < len(people), standings, about)
