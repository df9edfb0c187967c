"""Who has downloaded the public data of a competition: the log says it once a person, and first steps tick it off."""

from sqlalchemy.orm import Session

from anyshot_platform.foundation.database import Database
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.people.audit.reads import note_read
from anyshot_platform.people.audit.service import select_entries

_WHAT = "public_data"


def has_taken_data(session: Session, access: CompetitionAccess) -> bool:
    """Whether the viewer has downloaded a public dataset of the competition."""
    query = select_entries(
        competition_id=access.competition.id, actor_id=access.viewer.id, action=f"read.{_WHAT}"
    )
    return session.scalar(query.limit(1)) is not None


def note_data_taken(session: Session, database: Database, access: CompetitionAccess) -> None:
    """Keep in the competition's log that the viewer downloads its public data, for the first time only."""
    competition = access.competition.id
    if access.viewer.look is None and not has_taken_data(session, access):
        note_read(database, access.viewer.id, _WHAT, ("competition", competition), [competition])
