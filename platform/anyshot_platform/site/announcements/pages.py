"""All announcements of a competition, as a page and as a feed."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.people.notifications.service import is_muted
from anyshot_platform.running.announcements.organizing import list_announcements
from anyshot_platform.site.announcements.feed import MEDIA_TYPE, as_atom
from anyshot_platform.site.shell.page_header import read_header
from anyshot_platform.site.web.access import visible_competition
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(include_in_schema=False)
MOST = 200


@router.get("/competitions/{slug}/announcements")
def show_announcements(
    request: Request, access: Annotated[CompetitionAccess, Depends(visible_competition)], session: SessionDep
) -> Response:
    """Newest first."""
    return render(
        request,
        "competitions/announcements.html",
        section="competitions",
        head=read_header(session, access),
        tab="announcements",
        notes=list_announcements(session, access.competition, most=MOST),
        muted=is_muted(session, access.viewer.id, access.competition.id) if access.membership else None,
    )


@router.get("/competitions/{slug}/announcements.atom")
def send_feed(
    access: Annotated[CompetitionAccess, Depends(visible_competition)],
    session: SessionDep,
    services: ServicesDep,
) -> Response:
    """The same for feed readers."""
    notes = list_announcements(session, access.competition, most=MOST)
    return Response(as_atom(access.competition, notes, services.settings.base_url), media_type=MEDIA_TYPE)
