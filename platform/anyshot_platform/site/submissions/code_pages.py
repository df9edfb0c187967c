"""The page of the code that was published, and its downloads."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from anyshot_platform.judging.submissions.actions.published import find_published, list_published
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.shell.page_header import read_header
from anyshot_platform.site.web.access import visible_competition
from anyshot_platform.site.web.files import send_stored
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/competitions/{slug}/code", include_in_schema=False)
Visitor = Annotated[CompetitionAccess, Depends(visible_competition)]


@router.get("")
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


@router.get("/{submission_id}.zip")
def download_code(
    access: Visitor, session: SessionDep, services: ServicesDep, submission_id: str
) -> Response:
    """One submission's zip."""
    found = find_published(session, access.competition, submission_id)
    name = f"{access.competition.slug}-{found.phase.slug}-{found.submission.id}.zip"
    return send_stored(services, found.submission.digest, name, "application/zip")
