"""All announcements of a competition."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from sqlalchemy import select
from starlette.responses import Response

from anyshot_platform.announcements.models import Announcement
from anyshot_platform.sight.access import CompetitionAccess
from anyshot_platform.site.shell.heads import read_head
from anyshot_platform.web.access import visible_competition
from anyshot_platform.web.rendering import render
from anyshot_platform.web.services import SessionDep

router = APIRouter(include_in_schema=False)


@router.get("/competitions/{slug}/announcements")
def show_announcements(
    request: Request, access: Annotated[CompetitionAccess, Depends(visible_competition)], session: SessionDep
) -> Response:
    """Newest first."""
    notes = session.scalars(
        select(Announcement)
        .where(Announcement.competition_id == access.competition.id, Announcement.deleted_at.is_(None))
        .order_by(Announcement.created_at.desc())
        .limit(200)
    ).all()
    return render(
        request,
        "competitions/announcements.html",
        section="competitions",
        head=read_head(session, access),
        tab="announcements",
        notes=notes,
    )
