"""The further evaluations of a board over JSON, and as a file."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel
from starlette.responses import Response

from anyshot_platform.contest.phases.service import find_phase
from anyshot_platform.foundation.tables import MEDIA, Form
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.evaluations.view import PointOut
from anyshot_platform.site.leaderboards.api import find_league, require_board
from anyshot_platform.site.leaderboards.evaluations import as_csv, read_rows
from anyshot_platform.site.web.access import visible_competition
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/api/v1/competitions/{slug}/phases/{phase_slug}", tags=["leaderboards"])
Access = Annotated[CompetitionAccess, Depends(visible_competition)]
PhaseParam = Annotated[str, Path(max_length=64)]
LeagueParam = Annotated[str | None, Query(max_length=64, description="The first league if left out.")]


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
        for row in read_rows(session, access, phase, found)
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
        as_csv(read_rows(session, access, phase, found)),
        media_type=MEDIA[Form.CSV],
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )
