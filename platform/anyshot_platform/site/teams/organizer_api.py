"""Teams over JSON, for organizers: give one another name."""

from typing import Annotated

from fastapi import APIRouter, Path
from sqlalchemy.orm import Session

from anyshot_platform.actions.service import ActOutcome
from anyshot_platform.contest.competitions.actions.people import find_team
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.people.teams.actions.acts import ACTS
from anyshot_platform.people.teams.models import Team
from anyshot_platform.site.shell.act_frame import ChangedOut
from anyshot_platform.site.shell.act_routes import add_acts

router = APIRouter(prefix="/api/v1/competitions/{slug}/manage/teams", tags=["organizing: people"])
TeamParam = Annotated[str, Path(max_length=200, description="the id of the team, or its name")]


class NamedTeam(ChangedOut):
    """A team and its name; `changed` is false where it was so already."""

    id: str
    name: str


def _find(session: Session, competition: Competition, team_id: TeamParam) -> Team:
    return find_team(session, competition, team_id)


def _after(session: Session, access: CompetitionAccess, team: Team, outcome: ActOutcome) -> NamedTeam:
    return NamedTeam(id=team.id, name=team.name, message=outcome.message, changed=outcome.changed)


add_acts(router, ACTS, _find, _after, at="/{team_id}")
