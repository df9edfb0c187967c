"""Announcements over JSON, for everybody who sees the competition."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.running.announcements import organizing
from anyshot_platform.site.announcements.pages import MOST
from anyshot_platform.site.web.access import visible_competition
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/api/v1/competitions/{slug}/announcements", tags=["competitions"])


class AnnouncementLineOut(BaseModel):
    """What organizers told all participants."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    title: str
    body: str = Field(description="Markdown")
    created_at: datetime
    edited_at: datetime | None = Field(description="when its words were changed last")


@router.get("")
def read_announcements(
    access: Annotated[CompetitionAccess, Depends(visible_competition)], session: SessionDep
) -> list[AnnouncementLineOut]:
    """The announcements on the competition's page, newest first, at most 200."""
    rows = organizing.list_announcements(session, access.competition, most=MOST)
    return [AnnouncementLineOut.model_validate(row) for row in rows]
