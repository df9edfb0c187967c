"""Messages to a user, and the choice of which come how."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from sqlalchemy import select
from starlette.responses import Response

from anyshot_platform.errors import NotFound
from anyshot_platform.kernel.language import say
from anyshot_platform.notifications.models import Notification, NotificationChoice
from anyshot_platform.notifications.service import (
    KINDS,
    choose,
    list_muted,
    list_notifications,
    mark_read,
    mark_seen,
    mute,
)
from anyshot_platform.sight.access import CompetitionAccess
from anyshot_platform.site.users.account_pages import SECTIONS
from anyshot_platform.site.users.pages import safe_next
from anyshot_platform.users.models import MailRhythm, User
from anyshot_platform.users.viewer import Viewer
from anyshot_platform.web.access import browser_session, visible_competition
from anyshot_platform.web.forms import FormDep
from anyshot_platform.web.rendering import redirect, render
from anyshot_platform.web.services import SessionDep

router = APIRouter(include_in_schema=False)
RHYTHMS = (
    (MailRhythm.AT_ONCE, say("Each at once"), ""),
    (MailRhythm.DAILY, say("Once a day"), say("one e-mail at 8:00 in your time zone")),
    (MailRhythm.WEEKLY, say("Once a week"), say("one e-mail on Monday at 8:00 in your time zone")),
)
InBrowser = Annotated[Viewer, Depends(browser_session)]


@router.get("/notifications")
def show_notifications(request: Request, viewer: InBrowser, session: SessionDep) -> Response:
    """The newest messages."""
    return render(request, "notifications/list.html", notes=list_notifications(session, viewer.id))


@router.post("/notifications/read")
def read_all(viewer: InBrowser, session: SessionDep) -> Response:
    """Mark all as read."""
    mark_read(session, viewer.id)
    return redirect("/notifications")


@router.post("/notifications/seen", status_code=204)
def read_about(viewer: InBrowser, session: SessionDep, form: FormDep) -> None:
    """Mark what is about a page as read; the page's script sends this when it is opened."""
    mark_seen(session, viewer.id, form.text("url"))


@router.post("/notifications/{notification_id}/open")
def open_notification(
    notification_id: Annotated[str, Path(max_length=32)], viewer: InBrowser, session: SessionDep
) -> Response:
    """Mark one as read and go where it leads."""
    note = session.get(Notification, notification_id)
    if note is None or note.user_id != viewer.id:
        raise NotFound(say("There is no such message."))
    mark_read(session, viewer.id, note.id)
    return redirect(safe_next(note.url) if note.url else "/notifications")


@router.get("/account/notifications")
def show_choices(request: Request, viewer: InBrowser, session: SessionDep) -> Response:
    """A table: kind of message by way."""
    rows = session.scalars(select(NotificationChoice).where(NotificationChoice.user_id == viewer.id))
    chosen = {row.kind: row for row in rows}
    choices = [
        {
            "kind": kind,
            "words": words,
            "page": chosen[kind].page if kind in chosen else True,
            "email": chosen[kind].email if kind in chosen else True,
        }
        for kind, words in KINDS.items()
    ]
    return render(
        request,
        "users/account_notifications.html",
        sections=SECTIONS,
        current="notifications",
        choices=choices,
        email=viewer.email,
        rhythm=session.get_one(User, viewer.id).mail_rhythm.value,
        rhythms=RHYTHMS,
        muted=list_muted(session, viewer.id),
    )


@router.post("/account/notifications")
def save_choices(viewer: InBrowser, session: SessionDep, form: FormDep) -> Response:
    """Keep the table."""
    for kind in KINDS:
        choose(session, viewer.id, kind, page=form.flag(f"page:{kind}"), email=form.flag(f"email:{kind}"))
    rhythm = form.text("mail_rhythm")
    if rhythm in set(MailRhythm):
        session.get_one(User, viewer.id).mail_rhythm = MailRhythm(rhythm)
    return redirect("/account/notifications", flash="Saved.")


@router.post("/competitions/{slug}/mute")
def mute_competition(
    viewer: InBrowser,
    access: Annotated[CompetitionAccess, Depends(visible_competition)],
    session: SessionDep,
    form: FormDep,
) -> Response:
    """Hear nothing of a competition any more, or again."""
    muted = form.flag("muted")
    mute(session, viewer.id, access.competition.id, muted=muted)
    title = access.competition.title
    no_more = say("You get no more messages about %(title)s.", title=title)
    again = say("You get messages about %(title)s again.", title=title)
    return redirect(safe_next(form.text("next")), flash=no_more if muted else again)
