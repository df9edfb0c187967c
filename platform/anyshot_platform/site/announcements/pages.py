"""All announcements of a competition, as a page and as a feed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.announcements.models import Announcement
from anyshot_platform.sight.access import CompetitionAccess
from anyshot_platform.site.announcements.feed import MEDIA_TYPE, as_atom
from anyshot_platform.site.shell.page_header import read_header
from anyshot_platform.web.access import visible_competition
from anyshot_platform.web.rendering import render
from anyshot_platform.web.services import ServicesDep, SessionDep

router = APIRouter(include_in_schema=False)


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
        notes=_newest(session, access),
    )


@router.get("/competitions/{slug}/announcements.atom")
def send_feed(
    access: Annotated[CompetitionAccess, Depends(visible_competition)],
    session: SessionDep,
    services: ServicesDep,
) -> Response:
    """The same for feed readers."""
    notes = _newest(session, access)
    return Response(as_atom(access.competition, notes, services.settings.base_url), media_type=MEDIA_TYPE)


def _newest(session: Session, access: CompetitionAccess) -> Sequence[Announcement]:
    return session.scalars(
        select(Announcement)
        .where(Announcement.competition_id == access.competition.id, Announcement.deleted_at.is_(None))
        .order_by(Announcement.created_at.desc())
        .limit(200)
    ).all()
