"""Tells users what happened: on the page, and by e-mail where they want it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from anyshot_platform.competitions.models import Membership
from anyshot_platform.competitions.states import MemberStatus
from anyshot_platform.database import now
from anyshot_platform.notifications.models import Email, Notification, NotificationChoice
from anyshot_platform.queue.outbox import mark_outbox
from anyshot_platform.users.models import User

# Kinds of message, with the words of the page where a user chooses.
KINDS = {
    "submission.finished": "A submission of my team is scored",
    "submission.failed": "A submission of my team failed",
    "submission.cancelled": "A submission of my team was cancelled",
    "announcement": "The organizers announce something",
    "discussion.reply": "Somebody answers in a thread of mine",
    "membership": "My registration or team changes",
    "phase": "A phase opens or closes, results are published",
    "report": "A report that I asked for as an organizer is ready",
}


def notify(
    session: Session, user_ids: Iterable[str], *, kind: str, title: str, body: str = "", url: str = ""
) -> None:
    """Leave users a message, as each of them chose for its kind."""
    wanted = list(dict.fromkeys(user_ids))
    users = session.scalars(select(User).where(User.id.in_(wanted), User.deleted_at.is_(None))).all()
    rows = session.scalars(
        select(NotificationChoice).where(
            NotificationChoice.user_id.in_(wanted), NotificationChoice.kind == kind
        )
    )
    choices = {row.user_id: row for row in rows}
    for user in users:
        choice = choices.get(user.id)
        if choice is None or choice.page:
            session.add(Notification(user_id=user.id, kind=kind, title=title[:200], body=body, url=url))
        if user.email and user.email_verified_at and (choice is None or choice.email):
            send_email(session, to=user.email, subject=title, body=_letter(user, title, body, url))


def _letter(user: User, title: str, body: str, url: str) -> str:
    """A message as an e-mail; lines that are addresses get the site's own in front."""
    parts = [f"Hello {user.display_name or user.username},", title + ".", body, url]
    footer = "Choose which e-mails you get:\n/account/notifications"
    return "\n\n".join(part for part in (*parts, f"-- \n{footer}") if part) + "\n"


def tell_team(
    session: Session, team_id: str, *, kind: str, title: str, body: str = "", url: str = ""
) -> None:
    """Leave every member of a team a message."""
    members = session.scalars(
        select(Membership.user_id).where(
            Membership.team_id == team_id, Membership.status == MemberStatus.APPROVED
        )
    ).all()
    notify(session, members, kind=kind, title=title, body=body, url=url)


def send_email(session: Session, *, to: str, subject: str, body: str) -> None:
    """Write an e-mail that goes out after the commit."""
    session.add(Email(to=to, subject=" ".join(subject.split())[:200], body=body))
    mark_outbox(session)


def list_notifications(session: Session, user_id: str, *, limit: int = 100) -> Sequence[Notification]:
    """A user's newest messages."""
    return session.scalars(
        select(Notification)
        .where(Notification.user_id == user_id)
        .order_by(Notification.created_at.desc(), Notification.id.desc())
        .limit(limit)
    ).all()


def mark_read(session: Session, user_id: str, notification_id: str | None = None) -> None:
    """Mark one message, or all, as read."""
    statement = update(Notification).where(Notification.user_id == user_id, Notification.read_at.is_(None))
    if notification_id is not None:
        statement = statement.where(Notification.id == notification_id)
    session.execute(statement.values(read_at=now()))


def has_unread(session: Session, user_id: str, url: str) -> bool:
    """Whether a user has messages about a page that they have not opened."""
    unread = select(Notification.id).where(
        Notification.user_id == user_id, Notification.url == url, Notification.read_at.is_(None)
    )
    return session.scalar(unread.limit(1)) is not None


def mark_seen(session: Session, user_id: str, url: str) -> None:
    """Mark the messages about a page as read: their reader has it open."""
    about = (Notification.user_id == user_id, Notification.url == url, Notification.read_at.is_(None))
    session.execute(update(Notification).where(*about).values(read_at=now()))


def choose(session: Session, user_id: str, kind: str, *, page: bool, email: bool) -> None:
    """Keep what a user wants of a kind of message."""
    session.merge(NotificationChoice(user_id=user_id, kind=kind, page=page, email=email))
