"""The page of a team for everybody who sees it on a leaderboard."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import Response

from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.shell.page_header import read_header
from anyshot_platform.site.teams.view import read_team
from anyshot_platform.site.web.access import visible_competition
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(include_in_schema=False)


@router.get("/competitions/{slug}/teams/{team_id}")
def show_team(
    request: Request,
    access: Annotated[CompetitionAccess, Depends(visible_competition)],
    session: SessionDep,
    team_id: Annotated[str, Path(max_length=32)],
) -> Response:
    """Its members, as far as they are named, and where it stands."""
    return render(
        request,
        "competitions/team_shown.html",
        section="competitions",
        head=read_header(session, access),
        tab="leaderboard",
        shown=read_team(session, access, team_id),
    )
