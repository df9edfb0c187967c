"""Tells users what happened: on the page, and by e-mail where they want it."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, ScalarSelect, and_, delete, func, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from anyshot_platform.foundation.database import now
from anyshot_platform.people.notifications.letters import (
    Late,
    add_to_digest,
    letter,
    move_digest,
    send_email,
    with_late,
)
from anyshot_platform.people.notifications.models import Email, Mute, Notification, NotificationChoice
from anyshot_platform.people.users.models import MailRhythm, User

# Kinds of message, with the words of the page where a user chooses.
KINDS = {
    "submission.finished": "A submission of my team is scored",
    "submission.failed": "A submission of my team failed",
    "submission.cancelled": "A submission of my team was cancelled",
    "announcement": "The organizers announce something",
    "terms": "The terms of a competition change",
    "discussion.reply": "Replies to my threads",
    "membership": "My registration or team changes",
    "phase": "A phase opens, will close within a day, or its results are published",
    "report": "A report that I asked for as an organizer is ready",
}


# What a person is told of a competition that they muted: it concerns themselves, or they asked for it.
UNMUTED = frozenset({"membership", "report"})


def notify(
    session: Session,
    user_ids: Iterable[str],
    *,
    kind: str,
    title: str,
    body: str = "",
    url: str = "",
    about: str | None = None,
    submission_id: str | None = None,
) -> None:
    """Leave users a message, as each of them chose for its kind; `about` is the id of the competition it is about.

    An e-mail ends with what is to be said of the submission when it goes out.
    """
    wanted = list(dict.fromkeys(user_ids))
    if about is not None and kind not in UNMUTED:
        muted = set(session.scalars(select(Mute.user_id).where(Mute.competition_id == about)))
        wanted = [user_id for user_id in wanted if user_id not in muted]
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
            text = {"title": title[:200], "body": body}
            session.add(Notification(user_id=user.id, kind=kind, url=url, **text))
        if user.email and user.email_verified_at and (choice is None or choice.email):
            late = Late(submission_id) if submission_id else None
            if user.mail_rhythm == MailRhythm.AT_ONCE:
                text = letter(user, title + ".", with_late(body, late), url)
                send_email(session, to=user.email, subject=title, body=text, late=late)
            else:
                add_to_digest(session, user, title, body, url, late)


def is_due() -> ColumnElement[bool]:
    """The e-mails that should have gone out by now."""
    return and_(Email.ended_at.is_(None), Email.next_at <= now())


def due_emails(session: Session) -> tuple[int, datetime | None]:
    """How many e-mails should have gone out by now, and since when the first of them is due."""
    number, since = session.execute(
        select(func.count(Email.id), func.min(Email.next_at)).where(is_due())
    ).one()
    return number, since


def mute(session: Session, user_id: str, competition_id: str, *, muted: bool) -> None:
    """Tell a user nothing of a competition any more, or again."""
    session.execute(delete(Mute).where(Mute.user_id == user_id, Mute.competition_id == competition_id))
    if muted:
        session.add(Mute(user_id=user_id, competition_id=competition_id))


def is_muted(session: Session, user_id: str, competition_id: str) -> bool:
    """Whether a user wants to hear nothing of a competition."""
    return session.get(Mute, (user_id, competition_id)) is not None


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


def count_unread(user_id: InstrumentedAttribute[str] | str | None) -> ScalarSelect[int]:
    """How many messages a user has not read, as a part of a query."""
    unread = select(func.count(Notification.id)).where(
        Notification.user_id == user_id, Notification.read_at.is_(None)
    )
    return unread.scalar_subquery()


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


def forget_messages(session: Session, user: User) -> None:
    """Delete what was told to a user, on the page, in digests and in e-mails to the address of the account, and how.

    An address that nobody confirmed may be another account's too, which keeps its e-mails.
    """
    for table in (Notification, NotificationChoice, Mute):
        session.execute(delete(table).where(table.user_id == user.id))
    session.execute(delete(Email).where(Email.digest_of == user.id))
    if user.email and not _has_another_account(session, user, user.email):
        session.execute(
            delete(Email).where(or_(Email.to == user.email, func.lower(Email.to) == user.email.lower()))
        )


def _has_another_account(session: Session, user: User, address: str) -> bool:
    same = or_(User.email_key == address.casefold(), func.lower(User.email) == address.lower())
    others = select(User.id).where(same, User.id != user.id, User.deleted_at.is_(None))
    return user.email_key is None and session.scalar(others.limit(1)) is not None


def choose_rhythm(session: Session, user_id: str, rhythm: MailRhythm) -> None:
    """Send a user's e-mails so from now on, and what waits in a digest too."""
    user = session.get_one(User, user_id)
    user.mail_rhythm = rhythm
    move_digest(session, user)


def choose(session: Session, user_id: str, kind: str, *, page: bool, email: bool) -> None:
    """Keep what a user wants of a kind of message."""
    session.merge(NotificationChoice(user_id=user_id, kind=kind, page=page, email=email))
