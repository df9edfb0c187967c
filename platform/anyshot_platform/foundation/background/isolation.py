"""One row that cannot be worked on never keeps the others waiting.

A row that raises is counted in the table `troubles`, tried again ever later, and set aside after `TRIES` tries: it
stays, operators see it, and one of them has it tried again by hand.
"""

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError, InterfaceError, OperationalError, TimeoutError
from sqlalchemy.orm import Session

from anyshot_platform.foundation.background.models import Trouble
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.services import Services

log = logging.getLogger(__name__)
TRIES = 8
DATABASE_IS_AWAY = (OperationalError, InterfaceError, TimeoutError)  # no fault of the row


def each(services: Services, duty: str, subjects: Iterable[str], work: Callable[[str], int]) -> int:
    """Do `work` for every subject that is not resting after a failure; returns the sum of what it returned."""
    rest = resting(services, duty)
    return sum(_one(services, duty, subject, work) for subject in subjects if subject not in rest)


def back_off(attempts: int) -> timedelta:
    """The rest after that many failures: half a minute, then ever longer, an hour at most."""
    return timedelta(seconds=min(30 * 2 ** max(attempts - 1, 0), 3600))


def describe_error(error: Exception) -> str:
    """An error as it is kept in a row, for operators."""
    return f"{type(error).__name__}: {error}".replace("\x00", "\ufffd")[:1000]


def resting(services: Services, duty: str) -> set[str]:
    """The rows of a duty that rest after a failure, or are set aside."""
    with services.database.reading() as session:
        rows = session.scalars(select(Trouble).where(Trouble.duty == duty))
        return {row.subject for row in rows if row.set_aside_at is not None or row.next_at > now()}


def _one(services: Services, duty: str, subject: str, work: Callable[[str], int]) -> int:
    try:
        done = work(subject)
    except DATABASE_IS_AWAY:
        raise
    except Exception as error:
        log.exception("a row could not be worked on", extra={"duty": duty, "subject": subject})
        _count_failure(services, duty, subject, error)
        return 0
    _forget(services, duty, subject)
    return done


def _count_failure(services: Services, duty: str, subject: str, error: Exception) -> None:
    try:
        with services.database.writing() as session:
            row = session.get(Trouble, (duty, subject)) or Trouble(duty=duty, subject=subject, attempts=0)
            row.attempts += 1
            row.error = describe_error(error)
            row.next_at = now() + back_off(row.attempts)
            row.set_aside_at = now() if row.attempts >= TRIES else None
            session.add(row)
    except IntegrityError:  # another process counted the same failure
        return


def _forget(services: Services, duty: str, subject: str) -> None:
    with services.database.reading() as session:
        known = session.get(Trouble, (duty, subject)) is not None
    if known:
        with services.database.writing() as session:
            session.execute(delete(Trouble).where(Trouble.duty == duty, Trouble.subject == subject))


def forget_old_troubles(session: Session, before: datetime) -> None:
    """Remove failures of rows that nobody met again."""
    session.execute(delete(Trouble).where(Trouble.set_aside_at.is_(None), Trouble.next_at < before))
