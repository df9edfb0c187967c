"""Who took what is secret: reads that the log keeps, each in a transaction of its own, before the file leaves."""

from collections.abc import Sequence

from anyshot_platform.foundation.database import Database
from anyshot_platform.people.audit.service import record


def note_read(
    database: Database,
    actor_id: str | None,
    what: str,
    subject: tuple[str, str],
    competitions: Sequence[str] = (),
    **details: str,
) -> None:
    """Note in the log of each competition (or of the site) that somebody took `what` of the `subject` (type and id)."""
    with database.writing() as session:
        for competition_id in competitions or (None,):
            record(
                session,
                actor_id=actor_id,
                action=f"read.{what}",
                object_type=subject[0],
                object_id=subject[1],
                competition_id=competition_id,
                after=dict(details),
            )
