"""Leaderboards over JSON: one board, and how its top changed."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import find_phase, live_version
from anyshot_platform.foundation.errors import Forbidden, NotFound
from anyshot_platform.foundation.numbers import HalfWidth
from anyshot_platform.judging.execution.pairs import Statement
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.visibility.names import DatasetNames, name_datasets
from anyshot_platform.site.web.access import visible_competition
from anyshot_platform.site.web.services import ServicesDep, SessionDep
from anyshot_platform.standings.baselines.actions.service import not_run_in
from anyshot_platform.standings.leaderboards.extra_columns import ExtraColumn, read_extra_columns
from anyshot_platform.standings.leaderboards.late import LateRow, read_late
from anyshot_platform.standings.leaderboards.memo import read_state
from anyshot_platform.standings.leaderboards.reading import (
    BoardPlace,
    TopValue,
    read_board,
    read_history,
    read_rank,
)
from anyshot_platform.standings.leaderboards.trust import recall_against_above

router = APIRouter(prefix="/api/v1/competitions/{slug}/phases/{phase_slug}", tags=["leaderboards"])
Access = Annotated[CompetitionAccess, Depends(visible_competition)]
PhaseParam = Annotated[str, Path(max_length=64)]


class RowOut(BaseModel):
    """A row of a board; `rank` null is out of the ranking (a baseline, an organizer)."""

    rank: int | None
    team: str = Field(description="as the board calls it: a baseline by its own name")
    submission_number: int
    is_baseline: bool
    score: float
    half_width: HalfWidth
    runs: int
    tasks: int
    seconds: float
    by_dataset: dict[str, float]
    columns: dict[str, str] = Field(description="further ones that the league declares")
    submitted_at: datetime
    against_above: Statement | None = Field(
        description="the ranked row above minus this one; null for the first row of the answer, where the results of "
        "single tasks are gone, and where the two met other tasks"
    )


class BoardOut(BaseModel):
    """A page of a board, with the viewer's own rank."""

    league: str
    total: int
    offset: int
    own_rank: int | None
    rows: list[RowOut]
    late: list[LateRow] = Field(
        description="one of each team, the highest score first; empty where the phase does not show them"
    )
    baselines_not_run: str = Field(description="which baselines cannot be run here, and why; else empty")


@router.get("/leaderboard")
def show_board(
    access: Access,
    phase_slug: PhaseParam,
    session: SessionDep,
    services: ServicesDep,
    league: Annotated[str | None, Query(max_length=64, description="The first league if left out.")] = None,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> BoardOut:
    """The board of a league."""
    phase = find_phase(session, access.competition, phase_slug)
    require_board(access, phase)
    found = find_league(session, access.competition, league)
    version = live_version(session, phase)
    state = read_state(session, version, found)
    board = read_board(session, version, found, offset=offset, limit=limit, state=state)
    extra = read_extra_columns(session, version, found, board.places)
    team_id = access.team_id
    names = name_datasets(session, access.sight_of(phase), version)
    said = recall_against_above(session, services.storage, version, board.places, state)
    return BoardOut(
        league=found.slug,
        total=board.total,
        offset=board.offset,
        own_rank=read_rank(session, version, found, team_id, state) if team_id else None,
        rows=[_show_row(place, names, extra, said) for place in board.places],
        late=read_late(session, version, found),
        baselines_not_run=not_run_in(session, services, access.competition, found.slug),
    )


@router.get("/leaderboard/history")
def show_history(
    access: Access,
    phase_slug: PhaseParam,
    session: SessionDep,
    league: Annotated[str | None, Query(max_length=64)] = None,
) -> tuple[TopValue, ...]:
    """How the top of a board rose."""
    phase = find_phase(session, access.competition, phase_slug)
    require_board(access, phase)
    found = find_league(session, access.competition, league)
    return read_history(session, live_version(session, phase), found)


def require_board(access: CompetitionAccess, phase: Phase) -> None:
    """Raise `Forbidden` unless the viewer may see the phase's boards."""
    hidden = access.sight_of(phase).board_hidden
    if hidden:
        raise Forbidden(hidden)


def find_league(session: Session, competition: Competition, slug: str | None) -> League:
    """The league of that short name, or the first one; raises `NotFound`."""
    query = select(League).where(League.competition_id == competition.id, League.deleted_at.is_(None))
    if slug is not None:
        query = query.where(League.slug == slug)
    league = session.scalars(query.order_by(League.position, League.slug).limit(1)).first()
    if league is None:
        raise NotFound("There is no such league.")
    return league


def _show_row(
    place: BoardPlace, names: DatasetNames, extra: Sequence[ExtraColumn], said: Mapping[str, Statement]
) -> RowOut:
    row = place.row
    return RowOut(
        rank=place.rank,
        team=place.name,
        submission_number=place.submission_number,
        is_baseline=place.is_baseline,
        score=row.value,
        half_width=row.half_width,
        runs=row.runs,
        tasks=row.tasks,
        seconds=row.seconds,
        by_dataset={names.label(name): value for name, value in row.by_dataset.items()},
        columns={column.title: column.cells[row.row_key] for column in extra if row.row_key in column.cells},
        submitted_at=row.submitted_at,
        against_above=said.get(row.row_key) if place.rank is not None else None,
    )
