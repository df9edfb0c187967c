"""The organizers' page of announcements."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from anyshot_platform.announcements import organizing
from anyshot_platform.kernel.language import say
from anyshot_platform.notifications.service import members_of
from anyshot_platform.organizers.announcements.acts import ACTS, ADD
from anyshot_platform.site.shell.act_frame import perform_named
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer, manage_path, render_manage
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
        heading=say("Announcements"),
        acts=ACTS,
        told=len(members_of(session, access.competition)),
        announcements=organizing.list_announcements(session, access.competition, deleted=True),
    )


@router.post("")
def announce(request: Request, access: AsOrganizer, session: SessionDep, form: FormDep) -> Response:
    """Tell all participants something."""
    back = manage_path(access, "/announcements")
    return perform_named(request, session, form, {"": ADD}, "", access.competition, access, back)


@router.post("/{announcement_id}/{act}")
def act_on_announcement(
    request: Request, access: AsOrganizer, session: SessionDep, announcement_id: str, act: str, form: FormDep
) -> Response:
    """Take off the page or show again."""
    found = organizing.find_announcement(session, access.competition, announcement_id)
    back = manage_path(access, "/announcements")
    return perform_named(request, session, form, ACTS, act, found, access, back)
