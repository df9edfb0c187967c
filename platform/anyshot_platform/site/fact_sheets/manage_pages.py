"""The organizers' table of fact sheets."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from anyshot_platform.site.shell.manage_frame import AsReviewer, render_manage
from anyshot_platform.site.web.services import SessionDep
from anyshot_platform.standings.fact_sheets import service

router = APIRouter(prefix="/competitions/{slug}/manage/fact-sheets", include_in_schema=False)


@router.get("")
def show_sheets(request: Request, access: AsReviewer, session: SessionDep) -> Response:
    """Who owes one, and what the others wrote."""
    return render_manage(
        request,
        session,
        access,
        "fact_sheets.html",
        "fact-sheets",
        heading="Fact sheets",
        questions=access.competition.fact_sheet,
        sheets=service.list_sheets(session, access.competition),
    )
