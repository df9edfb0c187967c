"""The buttons with which organizers hide the code of one team, and show it again."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from anyshot_platform.acts.declaration import Deed
from anyshot_platform.desk.submissions.code_acts import ACTS, find_team
from anyshot_platform.errors import NotFound
from anyshot_platform.site.shell.act_frame import perform
from anyshot_platform.site.shell.manage_frame import AsOrganizer, manage_path
from anyshot_platform.web.forms import FormDep
from anyshot_platform.web.services import SessionDep

router = APIRouter(prefix="/competitions/{slug}/manage/code", include_in_schema=False)


@router.post("/{team_id}/{act}")
def act_on_code(
    request: Request, access: AsOrganizer, session: SessionDep, team_id: str, act: str, form: FormDep
) -> Response:
    """Hide the code of a team, or show it again."""
    if act not in ACTS:
        raise NotFound("There is no such act.")
    team = find_team(session, access.competition, team_id)
    deed = Deed(access.viewer.id, form.text("reason"))
    return perform(request, session, form, ACTS[act], team, deed, manage_path(access, "/final"))
