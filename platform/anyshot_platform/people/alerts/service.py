"""Alerts: opened once, closed when their condition is over; each is told once, by e-mail, post and webhook."""

from collections.abc import Sequence

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from anyshot_platform.foundation.background.outbox import mark_outbox
from anyshot_platform.foundation.database import now
from anyshot_platform.people.alerts.models import Alert
from anyshot_platform.people.webhooks.service import emit


def open_alert(session: Session, kind: str, subject: str, message: str) -> Alert:
    """Open an alert, unless the same one is open; operators are told after the commit."""
    known = session.scalars(
        select(Alert).where(Alert.kind == kind, Alert.subject == subject, Alert.until.is_(None))
    ).first()
    if known is not None:
        known.message = message
        return known
    alert = Alert(kind=kind, subject=subject, message=message)
    session.add(alert)
    session.flush()
    emit(session, None, "alert.opened", {"kind": kind, "subject": subject, "message": message})
    mark_outbox(session)
    return alert


def close_alert(session: Session, kind: str, subject: str) -> None:
    """Close an alert whose condition is over; operators are told after the commit."""
    for alert in session.scalars(
        select(Alert).where(Alert.kind == kind, Alert.subject == subject, Alert.until.is_(None))
    ):
        # By a statement: the moments may be others by now than they were when the alert was read.
        session.execute(
            update(Alert).where(Alert.id == alert.id).values(until=now(), told_at=None, posted_at=None)
        )
        emit(session, None, "alert.closed", {"kind": kind, "subject": subject, "message": alert.message})
        mark_outbox(session)


def list_open(session: Session) -> Sequence[Alert]:
    """The alerts that are open, oldest first."""
    return session.scalars(select(Alert).where(Alert.until.is_(None)).order_by(Alert.since)).all()
