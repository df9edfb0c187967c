"""The organizers' page of announcements."""

from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.actions.concurrency import tag_of
from anyshot_platform.contest.competitions.messages import members_of
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.running.announcements import organizing
from anyshot_platform.running.announcements.acts import ACTS, ADD
from anyshot_platform.running.announcements.models import Announcement
from anyshot_platform.site.shell.act_frame import perform_named, read_options, save_typed
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer, manage_path, render_manage
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.services import SessionDep

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
        acts=ACTS,
        told=len(members_of(session, access.competition)),
        announcements=organizing.list_announcements(session, access.competition, deleted=True),
    )


@router.post("")
def announce(request: Request, access: AsOrganizer, session: SessionDep, form: FormDep) -> Response:
    """Tell all participants something."""
    back = manage_path(access, "/announcements")
    return perform_named(request, session, form, {"": ADD}, "", access.competition, access, back)


@router.get("/{announcement_id}")
def show_announcement(
    request: Request, access: AsReviewer, session: SessionDep, announcement_id: str
) -> Response:
    """The form with the words of one."""
    row = organizing.find_announcement(session, access.competition, announcement_id)
    return _show_form(request, access, session, row, tag_of(organizing.announcement_fields(row)))


def _show_form(
    request: Request,
    access: CompetitionAccess,
    session: Session,
    row: Announcement,
    seen: str,
    **refused: Any,
) -> Response:
    return render_manage(
        request,
        session,
        access,
        "announcement.html",
        "announcements",
        heading=row.title,
        item=row,
        seen=seen,
        **refused,
    )


@router.post("/{announcement_id}")
def edit_announcement(
    request: Request, access: AsOrganizer, session: SessionDep, announcement_id: str, form: FormDep
) -> Response:
    """Write other words on the page; where somebody wrote others meanwhile, show both."""
    row = organizing.find_announcement(session, access.competition, announcement_id)

    def change() -> None:
        sent = read_options(ADD, form).model_dump()
        organizing.edit_announcement(session, row, sent, access.viewer.id, form.text("seen"))

    def show_again(refused: dict[str, Any]) -> Response:
        return _show_form(request, access, session, row, form.text("seen"), **refused)

    back, done = manage_path(access, "/announcements"), "The announcement is saved."
    return save_typed(request, session, form, back, done, change, show_again)


@router.post("/{announcement_id}/{act}")
def act_on_announcement(
    request: Request, access: AsOrganizer, session: SessionDep, announcement_id: str, act: str, form: FormDep
) -> Response:
    """Take off the page or show again."""
    found = organizing.find_announcement(session, access.competition, announcement_id)
    back = manage_path(access, "/announcements")
    return perform_named(request, session, form, ACTS, act, found, access, back)
