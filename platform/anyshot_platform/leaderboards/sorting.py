"""A board in any order, searched: for readers who look for something else than the ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.leaderboards.models import BoardRow
from anyshot_platform.leaderboards.reading import Place
from anyshot_platform.leagues.models import League
from anyshot_platform.phases.models import PhaseVersion
from anyshot_platform.submissions.models import Submission
from anyshot_platform.submissions.states import SubmissionKind
from anyshot_platform.teams.models import Team

DATASET_PREFIX = "d:"


def sort_board(
    session: Session, version: PhaseVersion, league: League, *, sort: str, text: str, offset: int, limit: int
) -> tuple[list[Place], int]:
    """Rows [offset, offset + limit) in the order of `sort` (`-` for descending), and how many there are.

    The rank of each row is that of the ranking, whatever the order and the search.
    """
    order = func.row_number().over(
        partition_by=BoardRow.ranked, order_by=(BoardRow.sort_value, BoardRow.submitted_at, BoardRow.id)
    )
    ranks = (
        select(BoardRow.id.label("row_id"), order.label("place"))
        .where(BoardRow.phase_version_id == version.id, BoardRow.league_id == league.id)
        .subquery()
    )
    query = (
        select(BoardRow, ranks.c.place, Team.name, Submission)
        .join(ranks, ranks.c.row_id == BoardRow.id)
        .join(Team, Team.id == BoardRow.team_id)
        .join(Submission, Submission.id == BoardRow.submission_id)
    )
    if text:
        pattern = "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        query = query.where(Team.name.ilike(pattern, escape="\\"))
    total = (
        session.scalar(select(func.count()).select_from(query.with_only_columns(BoardRow.id).subquery())) or 0
    )
    rows = session.execute(query.order_by(*_order(sort)).offset(offset).limit(limit)).all()
    return [_place(row, place, team, submission) for row, place, team, submission in rows], total


def _order(sort: str) -> Sequence[Any]:
    key = sort.removeprefix("-")
    columns: dict[str, Any] = {
        "rank": BoardRow.sort_value,
        "score": BoardRow.value,
        "seconds": BoardRow.seconds,
        "submitted": BoardRow.submitted_at,
    }
    column = columns.get(key, BoardRow.sort_value)
    if key.startswith(DATASET_PREFIX):
        column = BoardRow.by_dataset[key.removeprefix(DATASET_PREFIX)].as_float()
    first = column.desc().nulls_last() if sort.startswith("-") else column.asc().nulls_last()
    return (first, BoardRow.sort_value, BoardRow.submitted_at, BoardRow.id)


def _place(row: BoardRow, place: int, team: str, submission: Submission) -> Place:
    return Place(
        rank=place if row.ranked else None,
        row=row,
        team=team,
        submission_number=submission.number,
        submission_name=submission.comment or submission.filename,
        is_baseline=submission.kind == SubmissionKind.BASELINE,
    )
