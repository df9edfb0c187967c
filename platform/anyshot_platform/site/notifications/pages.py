"""Messages to a user, and the choice of which come how."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.actions.concurrency import Written, changes_upon, tag_of
from anyshot_platform.contest.competitions.messages import list_muted
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.people.notifications.models import Notification, NotificationChoice
from anyshot_platform.people.notifications.service import (
    KINDS,
    choose,
    choose_rhythm,
    list_notifications,
    mark_read,
    mark_seen,
    mute,
)
from anyshot_platform.people.users.models import MailRhythm, User
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.site.shell.act_frame import save_form
from anyshot_platform.site.users.account_pages import SECTIONS
from anyshot_platform.site.users.pages import safe_next
from anyshot_platform.site.web.access import browser_session, visible_competition
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(include_in_schema=False)
RHYTHMS = (
    (MailRhythm.AT_ONCE, "Each at once", ""),
    (MailRhythm.DAILY, "Once a day", "one e-mail at 8:00 in your time zone"),
    (MailRhythm.WEEKLY, "Once a week", "one e-mail on Monday at 8:00 in your time zone"),
)
_WAYS = ("page", "email")
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
        raise NotFound("There is no such message.")
    mark_read(session, viewer.id, note.id)
    return redirect(safe_next(note.url) if note.url else "/notifications")


@router.get("/account/notifications")
def show_choices(request: Request, viewer: InBrowser, session: SessionDep) -> Response:
    """A table: kind of message by way."""
    current = _choices(session, viewer)
    choices = [
        {"kind": kind, "words": words, **{way: current[f"{way}:{kind}"] for way in _WAYS}}
        for kind, words in KINDS.items()
    ]
    return render(
        request,
        "users/account_notifications.html",
        sections=SECTIONS,
        current="notifications",
        choices=choices,
        email=viewer.email,
        rhythm=current["mail_rhythm"],
        seen=tag_of(current),
        rhythms=RHYTHMS,
        muted=list_muted(session, viewer.id),
    )


@router.post("/account/notifications")
def save_choices(request: Request, viewer: InBrowser, session: SessionDep, form: FormDep) -> Response:
    """Keep what was changed in the table."""
    current = _choices(session, viewer)
    sent: dict[str, Any] = {name: form.flag(name) for name in current if name != "mail_rhythm"}
    rhythm = form.text("mail_rhythm")
    sent["mail_rhythm"] = rhythm if rhythm in set(MailRhythm) else current["mail_rhythm"]

    def change() -> None:
        chosen = {
            **current,
            **changes_upon(session, Written(None, viewer.id), form.text("seen"), sent, current),
        }
        for kind in KINDS:
            choose(session, viewer.id, kind, **{way: chosen[f"{way}:{kind}"] for way in _WAYS})
        choose_rhythm(session, viewer.id, MailRhythm(chosen["mail_rhythm"]))

    return save_form(request, session, form, "/account/notifications", "Saved.", change)


def _choices(session: Session, viewer: Viewer) -> dict[str, Any]:
    """What the form holds: each way of each kind of message, and when e-mails are sent."""
    rows = session.scalars(select(NotificationChoice).where(NotificationChoice.user_id == viewer.id))
    chosen = {row.kind: row for row in rows}
    ways = {
        f"{way}:{kind}": bool(getattr(chosen[kind], way)) if kind in chosen else True
        for kind in KINDS
        for way in _WAYS
    }
    return {**ways, "mail_rhythm": session.get_one(User, viewer.id).mail_rhythm.value}


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
    no_more = f"You get no more messages about {title}."
    again = f"You get messages about {title} again."
    return redirect(safe_next(form.text("next")), flash=no_more if muted else again)
