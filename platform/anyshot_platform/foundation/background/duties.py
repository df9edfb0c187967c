"""Duties that one process does at a time: a lease in the database says which."""

from datetime import timedelta

from sqlalchemy import delete, or_, update
from sqlalchemy.exc import IntegrityError

from anyshot_platform.foundation.background.models import Sweep
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.services import Services


def take_duty(services: Services, duty: str, holder: str, every: float) -> bool:
    """Whether this process is to do a duty now: nobody else did in the last `every` seconds."""
    moment = now()
    # Half a second of grace, so that a sweeper's own rhythm does not miss its own lease by a hair.
    until = moment + timedelta(seconds=max(every - 0.5, 0.0))
    try:
        with services.database.writing() as session:
            row = session.get(Sweep, duty)
            if row is None:
                session.add(Sweep(duty=duty, holder=holder, until=until, last_at=moment))
                session.flush()
                return True
            taken = session.execute(
                update(Sweep)
                .where(Sweep.duty == duty, or_(Sweep.until <= moment, Sweep.holder == ""))
                .values(holder=holder, until=until, last_at=moment)
                .execution_options(synchronize_session=False)
            )
            return taken.rowcount == 1  # pyright: ignore[reportAttributeAccessIssue]
    except IntegrityError:  # two processes made the row at once
        return False


def drop_duty(services: Services, duty: str, holder: str) -> None:
    """End a lease before its time: the duty is done, and is not done again under this name."""
    with services.database.writing() as session:
        session.execute(delete(Sweep).where(Sweep.duty == duty, Sweep.holder == holder))
