"""The further evaluations of a board over JSON, and as a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_core.browser_charts.numbers import known_half
from anyshot_core.evaluations import PointScore
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import find_phase, live_version
from anyshot_platform.foundation.tables import MEDIA, Form, write
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.evaluations.view import PointOut, of_board
from anyshot_platform.site.leaderboards.api import find_league, require_board
from anyshot_platform.site.web.access import visible_competition
from anyshot_platform.site.web.services import SessionDep
from anyshot_platform.standings.leaderboards.reading import BoardPlace, read_board

router = APIRouter(prefix="/api/v1/competitions/{slug}/phases/{phase_slug}", tags=["leaderboards"])
Access = Annotated[CompetitionAccess, Depends(visible_competition)]
PhaseParam = Annotated[str, Path(max_length=64)]
LeagueParam = Annotated[str | None, Query(max_length=64, description="The first league if left out.")]
_MOST_ROWS = 500
_POINT_COLUMNS = ("evaluation", "point", "label", "at", "mean", "half_width", "tasks", "message")


@dataclass(frozen=True)
class _EvaluatedRow:
    """A row of a board with its points, in the order of the board."""

    place: BoardPlace
    scores: Sequence[PointScore]

    @property
    def name(self) -> str:
        """What the board calls it."""
        return self.place.name


class EvaluatedRowOut(BaseModel):
    """A row of the board, and what its learner scores on further tasks."""

    rank: int | None
    team: str
    submission_number: int
    is_baseline: bool
    points: list[PointOut]


@router.get("/evaluations")
def show_evaluations(
    access: Access, phase_slug: PhaseParam, session: SessionDep, league: LeagueParam = None
) -> list[EvaluatedRowOut]:
    """Further evaluations of the rows of a league's board, in the order of the board, which they never change."""
    phase = find_phase(session, access.competition, phase_slug)
    require_board(access, phase)
    found = find_league(session, access.competition, league)
    return [
        EvaluatedRowOut(
            rank=row.place.rank,
            team=row.name,
            submission_number=row.place.submission_number,
            is_baseline=row.place.is_baseline,
            points=[PointOut.of(score) for score in row.scores],
        )
        for row in _read_rows(session, access, phase, found)
    ]


@router.get("/evaluations.csv", response_class=PlainTextResponse)
def download_evaluations(
    access: Access, phase_slug: PhaseParam, session: SessionDep, league: LeagueParam = None
) -> Response:
    """The same as CSV, a line for each row and point."""
    phase = find_phase(session, access.competition, phase_slug)
    require_board(access, phase)
    found = find_league(session, access.competition, league)
    name = f"{access.competition.slug}-{phase.slug}-{found.slug}-evaluations.csv"
    return PlainTextResponse(
        _as_csv(_read_rows(session, access, phase, found)),
        media_type=MEDIA[Form.CSV],
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )


def _read_rows(
    session: Session, access: CompetitionAccess, phase: Phase, league: League
) -> list[_EvaluatedRow]:
    """The rows that have points which the viewer may see; the best `_MOST_ROWS` of the board are asked."""
    version = live_version(session, phase)
    places = read_board(session, version, league, limit=_MOST_ROWS).places
    found = of_board(session, access.sight_of(phase), version, [place.row.submission_id for place in places])
    return [
        _EvaluatedRow(place, found[place.row.submission_id])
        for place in places
        if place.row.submission_id in found
    ]


def _as_csv(rows: Sequence[_EvaluatedRow]) -> bytes:
    """One line a row and point."""
    lines = [
        {
            "rank": row.place.rank,
            "team": row.name,
            "submission": row.place.submission_number,
            **{name: getattr(score, name) for name in _POINT_COLUMNS},
            "half_width": known_half(score.half_width),
        }
        for row in rows
        for score in row.scores
    ]
    return write(lines, ("rank", "team", "submission", *_POINT_COLUMNS), Form.CSV)
