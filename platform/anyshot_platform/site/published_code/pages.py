"""The page of the code that was published, its downloads, and the buttons that hide that of one team."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from anyshot_platform.contest.competitions.actions.people import find_team
from anyshot_platform.judging.submissions.actions.code_acts import ACTS
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.visibility.published_code import find_published, list_published
from anyshot_platform.site.shell.act_frame import perform_named
from anyshot_platform.site.shell.manage_frame import AsOrganizer, manage_path
from anyshot_platform.site.shell.page_header import read_header
from anyshot_platform.site.web.access import visible_competition
from anyshot_platform.site.web.files import send_stored
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/competitions/{slug}", include_in_schema=False)
Visitor = Annotated[CompetitionAccess, Depends(visible_competition)]


@router.get("/code")
def show_code(request: Request, access: Visitor, session: SessionDep) -> Response:
    """The winners' code."""
    return render(
        request,
        "competitions/code.html",
        section="competitions",
        head=read_header(session, access),
        tab="code",
        published=list_published(session, access.competition, access.role),
    )


@router.get("/code/{submission_id}.zip")
def download_code(
    access: Visitor, session: SessionDep, services: ServicesDep, submission_id: str
) -> Response:
    """One submission's zip."""
    found = find_published(session, access.competition, submission_id)
    name = f"{access.competition.slug}-{found.phase.slug}-{found.submission.id}.zip"
    return send_stored(services, found.submission.digest, name, "application/zip")


@router.post("/manage/code/{team_id}/{act}")
def act_on_code(
    request: Request, access: AsOrganizer, session: SessionDep, team_id: str, act: str, form: FormDep
) -> Response:
    """Hide the code of a team, or show it again."""
    team = find_team(session, access.competition, team_id)
    return perform_named(request, session, form, ACTS, act, team, access, manage_path(access, "/final"))
