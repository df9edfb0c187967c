"""The button with which organizers rename a team."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from anyshot_platform.contest.competitions.actions.people import find_team
from anyshot_platform.people.teams.actions.acts import ACTS
from anyshot_platform.site.shell.act_frame import perform_named
from anyshot_platform.site.shell.manage_frame import AsOrganizer, manage_path
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/competitions/{slug}/manage/teams", include_in_schema=False)


@router.post("/{team_id}/{act}")
def act_on_team(
    request: Request, access: AsOrganizer, session: SessionDep, team_id: str, act: str, form: FormDep
) -> Response:
    """Carry out an act on a team, as its form names it."""
    team = find_team(session, access.competition, team_id)
    return perform_named(request, session, form, ACTS, act, team, access, manage_path(access, "/people"))
