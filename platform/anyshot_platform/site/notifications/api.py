"""Messages over JSON: what came, how it comes, and which competitions are muted."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.messages import list_muted
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.people.notifications.service import choose_rhythm, list_notifications, mute
from anyshot_platform.people.users.models import MailRhythm, User
from anyshot_platform.people.users.viewer import Scope, Viewer
from anyshot_platform.site.web.access import signed_in_as, visible_competition
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/api/v1", tags=["notifications"])
Reader = Annotated[Viewer, Depends(signed_in_as(Scope.ACCOUNT))]
Visible = Annotated[CompetitionAccess, Depends(visible_competition)]


class NotificationOut(BaseModel):
    """A message; `url` is where it leads on the site."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    kind: str
    title: str
    body: str
    url: str
    created_at: datetime
    read_at: datetime | None


class MailingIn(BaseModel):
    """How messages come by e-mail."""

    model_config = ConfigDict(extra="forbid")

    mail_rhythm: MailRhythm = Field(description="daily and weekly: one digest at 8:00 in one's own time zone")


class MailingOut(BaseModel):
    """How messages come by e-mail, and the short names of the competitions that are muted."""

    mail_rhythm: MailRhythm
    muted: list[str]


@router.get("/notifications")
def list_messages(viewer: Reader, session: SessionDep) -> list[NotificationOut]:
    """One's newest hundred messages."""
    return [NotificationOut.model_validate(note) for note in list_notifications(session, viewer.id)]


@router.get("/notifications/delivery")
def show_delivery(viewer: Reader, session: SessionDep) -> MailingOut:
    """When e-mails come, and what is muted."""
    return _show(session, viewer)


@router.put("/notifications/delivery")
def change_delivery(viewer: Reader, session: SessionDep, body: MailingIn) -> MailingOut:
    """Choose when e-mails come: at once, or as a digest."""
    choose_rhythm(session, viewer.id, body.mail_rhythm)
    return _show(session, viewer)


@router.put("/competitions/{slug}/mute")
def mute_competition(viewer: Reader, access: Visible, session: SessionDep) -> MailingOut:
    """Hear nothing of a competition any more, but of one's registration and team."""
    mute(session, viewer.id, access.competition.id, muted=True)
    return _show(session, viewer)


@router.delete("/competitions/{slug}/mute")
def unmute_competition(viewer: Reader, access: Visible, session: SessionDep) -> MailingOut:
    """Unmute it."""
    mute(session, viewer.id, access.competition.id, muted=False)
    return _show(session, viewer)


def _show(session: Session, viewer: Viewer) -> MailingOut:
    session.flush()
    rhythm = session.get_one(User, viewer.id).mail_rhythm
    return MailingOut(mail_rhythm=rhythm, muted=[one.slug for one in list_muted(session, viewer.id)])
