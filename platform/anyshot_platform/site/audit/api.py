"""The audit log over JSON."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from anyshot_platform.foundation.paging import ListPage, PageParam
from anyshot_platform.people.audit.service import read_entries
from anyshot_platform.site.audit.object_names import names_of
from anyshot_platform.site.shell.manage_frame import AsReviewer
from anyshot_platform.site.web.access import site_admin
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(tags=["organizing: audit log"])
Word = Annotated[str, Query(max_length=64)]


class AuditEntryOut(BaseModel):
    """Who did what to which object; `who` is null for the platform itself."""

    id: int
    at: datetime
    who: str | None
    action: str
    object_type: str
    object_id: str
    object_name: str = Field(description="as it is called today; of what has no name the end of its id")
    reason: str
    before: dict[str, Any]
    after: dict[str, Any]


@router.get("/api/v1/competitions/{slug}/manage/audit")
def read_competition_log(
    access: AsReviewer, session: SessionDep, action: Word = "", who: Word = "", page: PageParam = 1
) -> ListPage[AuditEntryOut]:
    """Every act of an organizer in the competition, newest first, 50 a page; of one action, or of one user."""
    return _show(session, access.competition.id, action, who, page)


@router.get("/api/v1/admin/audit", dependencies=[Depends(site_admin)])
def read_site_log(
    session: SessionDep, action: Word = "", who: Word = "", page: PageParam = 1
) -> ListPage[AuditEntryOut]:
    """Every act on the site, newest first, 50 a page."""
    return _show(session, None, action, who, page)


def _show(
    session: Session, competition_id: str | None, action: str, who: str, number: int
) -> ListPage[AuditEntryOut]:
    rows, page = read_entries(session, competition_id=competition_id, action=action, who=who, number=number)
    objects = names_of(session, [row for row, _ in rows])
    items = [
        AuditEntryOut(
            id=row.id,
            at=row.at,
            who=name,
            action=row.action,
            object_type=row.object_type,
            object_id=row.object_id,
            object_name=objects[row.id],
            reason=row.reason,
            before=row.before,
            after=row.after,
        )
        for row, name in rows
    ]
    return page.of(items)
