"""Teams over JSON, as others see them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, Field

from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.teams.view import read_team
from anyshot_platform.site.web.access import visible_competition
from anyshot_platform.site.web.services import SessionDep
from anyshot_platform.standings.leaderboards.standings import TeamStanding

router = APIRouter(prefix="/api/v1/competitions/{slug}/teams", tags=["teams"])


class PublicTeamOut(BaseModel):
    """A team; `members` are the user names of those who let themselves be named."""

    id: str
    name: str
    members: list[str]
    others: bool = Field(description="there are members who are not named")
    standings: list[TeamStanding]


@router.get("/{team_id}")
def show_team(
    access: Annotated[CompetitionAccess, Depends(visible_competition)],
    session: SessionDep,
    team_id: Annotated[str, Path(max_length=32)],
) -> PublicTeamOut:
    """A team that stands on a leaderboard which the viewer may see."""
    view = read_team(session, access, team_id)
    return PublicTeamOut(
        id=view.team.id,
        name=view.team.name,
        members=[user.username for user in view.members],
        others=view.others,
        standings=list(view.standings),
    )
