"""A board in any order, searched: for readers who look for something else than the ranking."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.leaderboards.memo import BoardState, recall
from anyshot_platform.standings.leaderboards.models import BoardRow
from anyshot_platform.standings.leaderboards.reading import (
    BOARD_ORDER,
    BoardPlace,
    count_ranks,
    on_board,
    read_places,
)

DATASET_PREFIX = "d:"


def sort_board(
    session: Session,
    version: PhaseVersion,
    league: League,
    state: BoardState,
    *,
    sort: str,
    text: str,
    offset: int,
    limit: int,
) -> tuple[list[BoardPlace], int]:
    """Rows [offset, offset + limit) in the order of `sort` (`-` for descending), and how many there are.

    The rank of each row is that of the ranking, whatever the order and the search.
    """
    return recall(
        state,
        ("sorted", sort, text, offset, limit),
        lambda: _find_sorted(session, version, league, sort, text, offset, limit),
    )


def _find_sorted(
    session: Session, version: PhaseVersion, league: League, sort: str, text: str, offset: int, limit: int
) -> tuple[list[BoardPlace], int]:
    where = [on_board(version, league)]
    chosen = select(BoardRow.id)
    if text:
        pattern = "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        chosen = chosen.join(Team, Team.id == BoardRow.team_id)
        where.append(Team.name.ilike(pattern, escape="\\"))
    chosen = chosen.where(*where)
    if text:  # names are looked through once: for the page and for the count
        found = session.scalars(chosen.order_by(*_order(sort))).all()
        total, ids = len(found), found[offset : offset + limit]
    else:
        total = session.scalar(chosen.with_only_columns(func.count())) or 0
        ids = session.scalars(chosen.order_by(*_order(sort)).offset(offset).limit(limit)).all()
    ranks = count_ranks(session, ids)
    return [replace(place, rank=ranks.get(place.row.id)) for place in read_places(session, ids)], total


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
    return (first, *BOARD_ORDER)
