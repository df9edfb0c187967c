"""Teams over JSON, as others see them."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, Field

from anyshot_platform.foundation.numbers import HalfWidth
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.teams.view import read_team
from anyshot_platform.site.web.access import visible_competition
from anyshot_platform.site.web.services import SessionDep
from anyshot_platform.standings.leaderboards.standings import TeamStanding

router = APIRouter(prefix="/api/v1/competitions/{slug}/teams", tags=["teams"])


class StandingOut(BaseModel):
    """A team's row on a leaderboard; `rank` is null where it is out of the ranking."""

    phase: str = Field(description="the phase's short name")
    league: str = Field(description="the league's short name")
    rank: int | None
    ranked: int | None = Field(description="how many rows have a rank")
    score: float
    half_width: HalfWidth
    submitted_at: datetime
    entries: int = Field(description="the team's scored submissions to the phase")


class PublicTeamOut(BaseModel):
    """A team; `members` are the user names of those who let themselves be named."""

    id: str
    name: str
    members: list[str]
    others: bool = Field(description="there are members who are not named")
    standings: list[StandingOut]


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
        standings=[show_standing(one) for one in view.standings],
    )


def show_standing(one: TeamStanding) -> StandingOut:
    """A standing as JSON."""
    return StandingOut(**{**asdict(one), "phase": one.phase_slug, "league": one.league_slug})
