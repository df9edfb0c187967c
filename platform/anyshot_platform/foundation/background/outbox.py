"""The outbox of rings: workers are told of a run after the commit that queued it."""

from datetime import datetime, timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from anyshot_platform.foundation.background.doorbell import Doorbell
from anyshot_platform.foundation.background.models import OutboxRing
from anyshot_platform.foundation.database import Database, now

OUTBOX_KEY = "anyshot.outbox"  # in `session.info`: this transaction left something to send
_BATCH = 200
_MOST_FAILURES = 3  # of one round: the broker is away, each try costs two seconds
_REST = timedelta(seconds=5)


def mark_outbox(session: Session) -> None:
    """Wake the dispatcher when this transaction is committed."""
    session.info[OUTBOX_KEY] = True


def put_ring(session: Session, run_id: str, hardware_class: str, due_at: datetime | None = None) -> None:
    """Leave a ring for a run, to be sent after the commit and not before `due_at`."""
    session.add(OutboxRing(run_id=run_id, hardware_class=hardware_class, due_at=due_at or now()))
    mark_outbox(session)


def send_due_rings(database: Database, doorbell: Doorbell) -> int:
    """Send the rings that are due and return how many arrived; a ring sent twice is harmless.

    A ring that the broker does not take rests for a while, so that it keeps no other ring waiting.
    """
    with database.reading() as session:
        due = session.execute(
            select(OutboxRing.id, OutboxRing.run_id, OutboxRing.hardware_class)
            .where(OutboxRing.sent_at.is_(None), OutboxRing.due_at <= now())
            .order_by(OutboxRing.id)
            .limit(_BATCH)
        ).all()
    sent, failed = [], []
    for identity, run_id, hardware_class in due:
        (sent if doorbell.ring(run_id, hardware_class) else failed).append(identity)
        if len(failed) == _MOST_FAILURES:
            break
    if sent or failed:
        with database.writing() as session:
            session.execute(update(OutboxRing).where(OutboxRing.id.in_(sent)).values(sent_at=now()))
            session.execute(update(OutboxRing).where(OutboxRing.id.in_(failed)).values(due_at=now() + _REST))
    return len(sent)


def forget_old_rings(session: Session, *, older_than: timedelta = timedelta(hours=1)) -> None:
    """Remove rings of long ago; runs that still wait are rung again by the sweeper."""
    session.execute(delete(OutboxRing).where(OutboxRing.created_at < now() - older_than))
