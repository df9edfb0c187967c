"""Announcements over JSON, for organizers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from anyshot_platform.announcements import organizing
from anyshot_platform.announcements.models import Announcement
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer
from anyshot_platform.web.services import SessionDep

router = APIRouter(
    prefix="/api/v1/competitions/{slug}/manage/announcements", tags=["organizing: announcements"]
)
AnnouncementParam = Annotated[str, Path(max_length=32)]


class AnnouncementIn(BaseModel):
    """What all participants are told, on the page and, as each chose, by e-mail."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(min_length=1, max_length=200)
    body: str = Field(default="", max_length=100_000, description="Markdown")


class AnnouncementOut(BaseModel):
    """An announcement; a removed one has `deleted_at`."""

    id: str
    title: str
    body: str
    created_at: datetime
    deleted_at: datetime | None


@router.get("")
def list_announcements(
    access: AsReviewer, session: SessionDep, deleted: bool = False
) -> list[AnnouncementOut]:
    """Newest first; with `deleted`, those that were taken off the page too."""
    rows = organizing.list_announcements(session, access.competition, deleted=deleted)
    return [_show(row) for row in rows]


@router.post("", status_code=201)
def announce(access: AsOrganizer, session: SessionDep, body: AnnouncementIn) -> AnnouncementOut:
    """Tell all participants something."""
    return _show(organizing.announce(session, access.competition, body.title, body.body, access.viewer.id))


@router.delete("/{announcement_id}")
def remove(access: AsOrganizer, session: SessionDep, announcement_id: AnnouncementParam) -> AnnouncementOut:
    """Take it off the page; what was sent stays sent."""
    found = organizing.find_announcement(session, access.competition, announcement_id)
    organizing.remove(session, found, access.viewer.id)
    return _show(found)


@router.post("/{announcement_id}/restore")
def restore(access: AsOrganizer, session: SessionDep, announcement_id: AnnouncementParam) -> AnnouncementOut:
    """Undo a removal."""
    found = organizing.find_announcement(session, access.competition, announcement_id)
    organizing.restore(session, found, access.viewer.id)
    return _show(found)


def _show(row: Announcement) -> AnnouncementOut:
    return AnnouncementOut(
        id=row.id, title=row.title, body=row.body, created_at=row.created_at, deleted_at=row.deleted_at
    )
