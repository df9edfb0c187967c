"""What acts of several folders are about."""

from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import Target
from anyshot_platform.people.teams.models import Team


def team_target(session: Session, team: Team) -> Target:
    """A team, by its name."""
    return Target("team", team.id, team.name, f"“{team.name}”", (team.competition_id,))
