"""Reads leaderboards: pages, one's own rank, the history of the top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from anyshot_platform.leaderboards.models import BoardChange, BoardRow
from anyshot_platform.leagues.models import League
from anyshot_platform.phases.models import PhaseVersion
from anyshot_platform.submissions.models import Submission
from anyshot_platform.teams.models import Team

_MOST_UNRANKED = 500


@dataclass(frozen=True)
class Place:
    """A row of a board as it is shown; `rank` is None for baselines and others out of the ranking."""

    rank: int | None
    row: BoardRow
    team: str
    submission_number: int
    submission_name: str
    is_baseline: bool


@dataclass(frozen=True)
class Board:
    """A page of a board: `offset` counts ranked rows, `total` is how many there are."""

    places: tuple[Place, ...]
    total: int
    offset: int


def read_board(
    session: Session, version: PhaseVersion, league: League, *, offset: int = 0, limit: int = 100
) -> Board:
    """The ranked rows [offset, offset + limit) in order, with the unranked rows that fall between them."""
    here = _on_board(version, league)
    total = session.scalar(select(func.count(BoardRow.id)).where(here, BoardRow.ranked)) or 0
    ranked = _with_names(
        session,
        and_(here, BoardRow.ranked),
        offset=offset,
        limit=limit,
        first_rank=offset + 1,
    )
    unranked = _with_names(session, and_(here, ~BoardRow.ranked), offset=0, limit=_MOST_UNRANKED)
    last_page = offset + len(ranked) >= total
    lower = ranked[0].row.sort_value if ranked and offset > 0 else float("-inf")
    upper = ranked[-1].row.sort_value if ranked and not last_page else float("inf")
    between = [place for place in unranked if lower <= _sort_value(place) < upper]
    places = sorted([*ranked, *between], key=lambda place: (_sort_value(place), place.row.submitted_at))
    return Board(tuple(places), total, offset)


def read_rank(session: Session, version: PhaseVersion, league: League, team_id: str) -> int | None:
    """A team's rank, from 1; None if it has none."""
    here = _on_board(version, league)
    own = session.scalars(
        select(BoardRow).where(here, BoardRow.ranked, BoardRow.row_key == team_id)
    ).one_or_none()
    if own is None:
        return None
    before = or_(
        BoardRow.sort_value < own.sort_value,
        and_(BoardRow.sort_value == own.sort_value, BoardRow.submitted_at < own.submitted_at),
    )
    return 1 + (session.scalar(select(func.count(BoardRow.id)).where(here, BoardRow.ranked, before)) or 0)


@dataclass(frozen=True)
class TopValue:
    """The best value on a board from a moment on."""

    at: datetime
    value: float
    team: str


def read_history(session: Session, version: PhaseVersion, league: League) -> Sequence[TopValue]:
    """Each moment at which the top of a board rose, oldest first."""
    changes = session.execute(
        select(BoardChange.at, BoardChange.value, Team.name)
        .join(Team, Team.id == BoardChange.team_id)
        .where(
            BoardChange.phase_version_id == version.id,
            BoardChange.league_id == league.id,
            BoardChange.value.is_not(None),
            ~Team.out_of_ranking,
        )
        .order_by(BoardChange.at, BoardChange.id)
    )
    tops: list[TopValue] = []
    for at, value, team in changes:
        if value is not None and (not tops or value > tops[-1].value):
            tops.append(TopValue(at, value, team))
    return tops


def _on_board(version: PhaseVersion, league: League) -> ColumnElement[bool]:
    return and_(BoardRow.phase_version_id == version.id, BoardRow.league_id == league.id)


def _sort_value(place: Place) -> float:
    # Unranked rows carry minus their score; among average ranks they are shown by that too, hence at the top.
    return place.row.sort_value


def _with_names(
    session: Session, where: ColumnElement[bool], *, offset: int, limit: int, first_rank: int | None = None
) -> list[Place]:
    rows = session.execute(
        select(
            BoardRow, Team.name, Submission.number, Submission.filename, Submission.kind, Submission.comment
        )
        .join(Team, Team.id == BoardRow.team_id)
        .join(Submission, Submission.id == BoardRow.submission_id)
        .where(where)
        .order_by(BoardRow.sort_value, BoardRow.submitted_at, BoardRow.id)
        .offset(offset)
        .limit(limit)
    ).all()
    return [
        Place(
            rank=None if first_rank is None else first_rank + place,
            row=row,
            team=team,
            submission_number=number,
            submission_name=comment or filename,
            is_baseline=kind == "baseline",
        )
        for place, (row, team, number, filename, kind, comment) in enumerate(rows)
    ]
