"""Has the model of a board ready when somebody looks: fitted in the background, as soon as the board has changed."""

from dataclasses import dataclass

from sqlalchemy import func, select

from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.database import Database
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.standings.leaderboards.models import BoardChange
from anyshot_platform.standings.leaderboards.trust import fit_board


@dataclass
class BoardsReady:
    """One round fits the boards that have changed since the last one, in this process; the first round none.

    A change whose transaction commits after a later one's is missed: that board is fitted when it is looked at.
    """

    database: Database
    storage: Storage
    seen: int | None = None  # the last change that was looked at

    def __call__(self) -> None:
        """Do a round."""
        with self.database.reading() as session:
            newest = session.scalar(select(func.max(BoardChange.id))) or 0
            changed = select(BoardChange.phase_version_id, BoardChange.league_id).distinct()
            since = newest if self.seen is None else self.seen
            boards = session.execute(changed.where(BoardChange.id > since, BoardChange.id <= newest)).all()
            self.seen = newest
            for version, league in boards:
                fit_board(
                    session,
                    self.storage,
                    session.get_one(PhaseVersion, version),
                    session.get_one(League, league),
                )
