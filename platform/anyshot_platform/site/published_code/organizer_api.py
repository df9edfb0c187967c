"""The published code of each team over JSON, for organizers: hide that of one team, show it again."""

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.actions.people import find_team
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.judging.submissions.actions.code_acts import ACTS, list_teams
from anyshot_platform.people.teams.models import Team
from anyshot_platform.site.shell.act_frame import show_changed
from anyshot_platform.site.shell.act_routes import add_acts
from anyshot_platform.site.shell.manage_frame import AsReviewer
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/api/v1/competitions/{slug}/manage/code", tags=["organizing: submissions"])
TeamParam = Annotated[str, Path(max_length=32)]


class TeamCodeOut(BaseModel):
    """A team whose code was published, or is hidden whatever is published."""

    team: str
    name: str
    hidden: bool
    submissions: list[str] = Field(description="ids of those whose code was published")


@router.get("")
def list_codes(access: AsReviewer, session: SessionDep) -> list[TeamCodeOut]:
    """The teams whose code was published or is hidden."""
    return [
        TeamCodeOut(
            team=row.team.id,
            name=row.team.name,
            hidden=row.hidden,
            submissions=[submission.id for submission in row.submissions],
        )
        for row in list_teams(session, access.competition)
    ]


def _find(session: Session, competition: Competition, team_id: TeamParam) -> Team:
    return find_team(session, competition, team_id)


add_acts(router, ACTS, _find, show_changed, at="/{team_id}")
