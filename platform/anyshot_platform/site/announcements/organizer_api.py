"""Announcements over JSON, for organizers."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from anyshot_platform.actions.concurrency import tag_of
from anyshot_platform.actions.service import ActOutcome
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.running.announcements import organizing
from anyshot_platform.running.announcements.acts import ACTS, ADD, Body, Title
from anyshot_platform.running.announcements.models import Announcement
from anyshot_platform.site.shell.act_frame import IfMatch
from anyshot_platform.site.shell.act_routes import add_acts
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(
    prefix="/api/v1/competitions/{slug}/manage/announcements", tags=["organizing: announcements"]
)
AnnouncementParam = Annotated[str, Path(max_length=32)]


class AnnouncementEditIn(BaseModel):
    """The words that change; what is left out stays."""

    model_config = ConfigDict(extra="forbid")

    title: Title | None = None
    body: Body | None = None


class AnnouncementOut(BaseModel):
    """An announcement; a removed one has `deleted_at`."""

    id: str
    title: str
    body: str
    created_at: datetime
    edited_at: datetime | None
    deleted_at: datetime | None
    etag: str = Field(description="for `If-Match` of a change")


@router.get("")
def list_announcements(
    access: AsReviewer, session: SessionDep, deleted: bool = False
) -> list[AnnouncementOut]:
    """Newest first; with `deleted`, those that were taken off the page too."""
    rows = organizing.list_announcements(session, access.competition, deleted=deleted)
    return [_show(row) for row in rows]


@router.patch("/{announcement_id}")
def edit_announcement(
    access: AsOrganizer,
    session: SessionDep,
    announcement_id: AnnouncementParam,
    body: AnnouncementEditIn,
    if_match: IfMatch = None,
) -> AnnouncementOut:
    """Write other words on the page: nobody gets a message, and the audit log keeps what was there before."""
    row, sent = _find(session, access.competition, announcement_id), body.model_dump(exclude_none=True)
    organizing.edit_announcement(session, row, sent, access.viewer.id, if_match)
    return _show(row)


def _the_competition(session: Session, competition: Competition) -> Competition:
    return competition


def _newest(
    session: Session, access: CompetitionAccess, competition: Competition, outcome: ActOutcome
) -> AnnouncementOut:
    return _show(outcome.result or organizing.list_announcements(session, competition, most=1)[0])


def _find(session: Session, competition: Competition, announcement_id: AnnouncementParam) -> Announcement:
    return organizing.find_announcement(session, competition, announcement_id)


def _after(
    session: Session, access: CompetitionAccess, row: Announcement, outcome: ActOutcome
) -> AnnouncementOut:
    return _show(row)


add_acts(router, {ADD.name: ADD}, _the_competition, _newest)
add_acts(router, ACTS, _find, _after, at="/{announcement_id}")


def _show(row: Announcement) -> AnnouncementOut:
    return AnnouncementOut(
        id=row.id,
        title=row.title,
        body=row.body,
        created_at=row.created_at,
        edited_at=row.edited_at,
        deleted_at=row.deleted_at,
        etag=tag_of(organizing.announcement_fields(row)),
    )
