"""The further evaluations of the rows of a board, as JSON and CSV give them out."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from anyshot_core.browser_charts.numbers import known_half
from anyshot_core.evaluations import PointScore
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.foundation.tables import Form, write
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.evaluations.view import of_board
from anyshot_platform.standings.leaderboards.reading import BoardPlace, read_board

MOST_ROWS = 500
POINT_COLUMNS = ("evaluation", "point", "label", "at", "mean", "half_width", "tasks", "message")


@dataclass(frozen=True)
class EvaluatedRow:
    """A row of a board with its points, in the order of the board."""

    place: BoardPlace
    scores: Sequence[PointScore]

    @property
    def name(self) -> str:
        """What the board calls it."""
        return self.place.name


def read_rows(
    session: Session, access: CompetitionAccess, phase: Phase, league: League
) -> list[EvaluatedRow]:
    """The rows that have points which the viewer may see; the best `MOST_ROWS` of the board are asked."""
    version = live_version(session, phase)
    places = read_board(session, version, league, limit=MOST_ROWS).places
    found = of_board(session, access.sight_of(phase), version, [place.row.submission_id for place in places])
    return [
        EvaluatedRow(place, found[place.row.submission_id])
        for place in places
        if place.row.submission_id in found
    ]


def as_csv(rows: Sequence[EvaluatedRow]) -> bytes:
    """One line a row and point."""
    lines = [
        {
            "rank": row.place.rank,
            "team": row.name,
            "submission": row.place.submission_number,
            **{name: getattr(score, name) for name in POINT_COLUMNS},
            "half_width": known_half(score.half_width),
        }
        for row in rows
        for score in row.scores
    ]
    return write(lines, ("rank", "team", "submission", *POINT_COLUMNS), Form.CSV)
