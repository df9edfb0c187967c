"""The organizers' page of announcements."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from anyshot_platform.announcements import organizing
from anyshot_platform.errors import Invalid
from anyshot_platform.site.shell.manage_frame import (
    AsOrganizer,
    AsReviewer,
    carry_out_change,
    manage_path,
    render_manage,
)
from anyshot_platform.web.forms import FormDep
from anyshot_platform.web.services import SessionDep

router = APIRouter(prefix="/competitions/{slug}/manage/announcements", include_in_schema=False)


@router.get("")
def show_announcements(request: Request, access: AsReviewer, session: SessionDep) -> Response:
    """What was announced, and the form."""
    return render_manage(
        request,
        session,
        access,
        "announcements.html",
        "announcements",
        heading="Announcements",
        announcements=organizing.list_announcements(session, access.competition, deleted=True),
    )


@router.post("")
def announce(access: AsOrganizer, session: SessionDep, form: FormDep) -> Response:
    """Tell all participants something."""
    change = lambda: organizing.announce(  # noqa: E731
        session, access.competition, form.text("title"), form.text("body"), access.viewer.id
    )
    return carry_out_change(
        session, manage_path(access, "/announcements"), "Announced on the page and by e-mail.", change
    )


@router.post("/{announcement_id}/{act}")
def act_on_announcement(access: AsOrganizer, session: SessionDep, announcement_id: str, act: str) -> Response:
    """Remove or restore."""
    found = organizing.find_announcement(session, access.competition, announcement_id)
    if act not in ("remove", "restore"):
        raise Invalid("There is no such act.")
    change = organizing.remove if act == "remove" else organizing.restore
    return carry_out_change(
        session,
        manage_path(access, "/announcements"),
        "Done.",
        lambda: change(session, found, access.viewer.id),
    )
