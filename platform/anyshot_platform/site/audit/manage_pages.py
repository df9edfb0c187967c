"""The audit log of a competition, and of the site."""

import json
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.foundation.paging import Page, PageParam
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.people.audit.service import read_entries
from anyshot_platform.site.audit.object_names import names_of
from anyshot_platform.site.shell.manage_frame import AsReviewer, render_manage
from anyshot_platform.site.web.access import site_admin
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(include_in_schema=False)
Word = Annotated[str, Query(max_length=64)]


@router.get("/competitions/{slug}/manage/audit")
def show_competition_log(
    request: Request,
    access: AsReviewer,
    session: SessionDep,
    action: Word = "",
    who: Word = "",
    page: PageParam = 1,
) -> Response:
    """Every act of an organizer in this competition."""
    rows, place = _read(session, access.competition.id, action, who, page)
    actions = _actions(session, access.competition.id)
    return render_manage(
        request,
        session,
        access,
        "audit.html",
        "audit",
        heading="Audit log",
        rows=rows,
        page=place,
        action=action,
        who=who,
        actions=actions,
    )


@router.get("/admin/audit", dependencies=[Depends(site_admin)])
def show_site_log(
    request: Request, session: SessionDep, action: Word = "", who: Word = "", page: PageParam = 1
) -> Response:
    """Every act on the site."""
    rows, place = _read(session, None, action, who, page)
    return render(
        request,
        "admin/audit.html",
        section="admin",
        current="audit",
        rows=rows,
        page=place,
        action=action,
        who=who,
        actions=_actions(session, None),
    )


def _actions(session: Session, competition_id: str | None) -> list[str]:
    query = select(AuditEntry.action).distinct().order_by(AuditEntry.action)
    if competition_id is not None:
        query = query.where(AuditEntry.competition_id == competition_id)
    return list(session.scalars(query))


def _read(
    session: Session, competition_id: str | None, action: str, who: str, number: int
) -> tuple[list[dict[str, object]], Page]:
    rows, page = read_entries(session, competition_id=competition_id, action=action, who=who, number=number)
    objects = names_of(session, [entry for entry, _ in rows])
    return [_row(entry, name, objects[entry.id]) for entry, name in rows], page


def _row(entry: AuditEntry, name: str | None, thing: str) -> dict[str, object]:
    return {
        "entry": entry,
        "object": thing,
        "who": name or "the platform",
        "before": json.dumps(entry.before, ensure_ascii=False, indent=1) if entry.before else "",
        "after": json.dumps(entry.after, ensure_ascii=False, indent=1) if entry.after else "",
    }
