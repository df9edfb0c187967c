"""How sure the order of a board is: each ranked row against the one above it, by the one model of the board.

A model has `MOST_ON_A_BOARD` rows at most. A longer board has several, one after the other; where a rule ranks by the
other entries, a part of the board would rank them otherwise, so nothing is said of a longer one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqlalchemy import ColumnElement, Select, and_, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.execution.pairs import MOST_ON_A_BOARD, Statement, read_statements
from anyshot_platform.standings.leaderboards.memo import BoardState, recall
from anyshot_platform.standings.leaderboards.models import BoardRow
from anyshot_platform.standings.leaderboards.reading import BOARD_ORDER, BoardPlace, count_before, read_places


@dataclass(frozen=True)
class Neighbour:
    """A row next to one's own, and in words what is known of the two."""

    team: str
    above: bool
    words: str


def read_against_above(
    session: Session, storage: Storage, version: PhaseVersion, rows: Sequence[BoardRow]
) -> Mapping[str, Statement]:
    """For successive ranked rows of a board, by key: the row above minus this one.

    Rows without a statement are missing: the first one, and those whose results of single tasks are gone. A Ladder says
    nothing: it would tell more than its steps.
    """
    if len(rows) < 2 or version.phase.board_shows.tells_steps_alone:
        return {}
    here = _ranked(version, rows[0].league_id)
    offset, step = count_before(session, rows[0]), MOST_ON_A_BOARD - 1
    said: dict[str, Statement] = {}
    for start in range(offset // step * step, offset + len(rows) - 1, step):
        board = _read_ids(session, here, start)
        if _is_partial(version, board):
            break
        own = rows[max(start - offset, 0) : start - offset + MOST_ON_A_BOARD]
        pairs = [(upper.submission_id, lower.submission_id) for upper, lower in pairwise(own)]
        found = read_statements(session, storage, version, board, pairs)
        said |= {row.row_key: one for row, one in zip(own[1:], found, strict=True) if one}
    return said


def _ranked(version: PhaseVersion, league_id: str) -> ColumnElement[bool]:
    return and_(BoardRow.phase_version_id == version.id, BoardRow.league_id == league_id, BoardRow.ranked)


def _read_ids(session: Session, here: ColumnElement[bool], start: int = 0) -> list[str]:
    """The submissions of one model: rows from `start` on, in order."""
    query = select(BoardRow.submission_id).where(here).order_by(*BOARD_ORDER)
    return list(session.scalars(query.offset(start).limit(MOST_ON_A_BOARD)))


def _is_partial(version: PhaseVersion, board: Sequence[str]) -> bool:
    """Whether the first rows of a board would rank otherwise without the others."""
    return version.rule.relative and len(board) == MOST_ON_A_BOARD


def read_beside(
    session: Session,
    storage: Storage,
    version: PhaseVersion,
    pairs: Sequence[tuple[str, str]],
    *,
    sees_board: bool,
) -> list[Statement | None]:
    """The statement on each pair of submissions, by their ids, whether they are on a board or not.

    None where there is nothing to say, as of ranks on a part of a board, and of ranks to somebody who does not see it:
    they tell how many entries lie between. Each two are put beside the first rows of a
    league's board, of the first league in which one of them stands, else of the first of all; not beside others that
    are asked about, so that page and mail say the same of them.
    """
    if version.rule.relative and not sees_board:
        return [None] * len(pairs)
    boards: dict[str, list[str]] = {}
    said = []
    for pair in pairs:
        league = session.scalars(_leagues_of(version, pair)).first()
        if league is not None and league not in boards:
            boards[league] = _read_ids(session, _ranked(version, league))
        board = boards[league] if league else []
        said += (
            [None]
            if _is_partial(version, board)
            else read_statements(session, storage, version, board, [pair])
        )
    return said


def _leagues_of(version: PhaseVersion, pair: tuple[str, str]) -> Select[str]:
    standing = select(BoardRow.league_id).where(
        BoardRow.phase_version_id == version.id, BoardRow.submission_id.in_(pair)
    )
    leagues = select(League.id).where(
        League.competition_id == version.phase.competition_id, League.deleted_at.is_(None)
    )
    return leagues.order_by(League.id.not_in(standing), League.position, League.id).limit(1)


def fit_board(session: Session, storage: Storage, version: PhaseVersion, league: League) -> None:
    """Have the model of a board's first rows ready, before anybody asks."""
    board = _read_ids(session, _ranked(version, league.id))
    read_statements(session, storage, version, board, [])


def recall_against_above(
    session: Session, storage: Storage, version: PhaseVersion, places: Sequence[BoardPlace], state: BoardState
) -> Mapping[str, Statement]:
    """The same for the places of a page, remembered as long as the board stays as it is."""
    ranked = [place.row for place in places if place.rank is not None]
    key = ("against above", tuple(row.id for row in ranked))
    return recall(state, key, lambda: read_against_above(session, storage, version, ranked))


def read_neighbours(
    session: Session, storage: Storage, version: PhaseVersion, league: League, rank: int
) -> tuple[Neighbour, ...]:
    """The ranked rows just above and below `rank`; those of which nothing can be said are left out."""
    first = max(rank - 1, 1)
    ids = session.scalars(
        select(BoardRow.id)
        .where(_ranked(version, league.id))
        .order_by(*BOARD_ORDER)
        .offset(first - 1)
        .limit(rank + 2 - first)
    ).all()
    places = read_places(session, ids)
    said = read_against_above(session, storage, version, [place.row for place in places])
    found = []
    for upper, lower in pairwise(places):
        statement = said.get(lower.row.row_key)
        above = len(ids) > 1 and lower is places[rank - first]
        if statement is not None:
            found.append(_neighbour(upper.name if above else lower.name, statement, above=above))
    return tuple(found)


def _neighbour(team: str, statement: Statement, *, above: bool) -> Neighbour:
    names = (team, "your team") if above else ("your team", team)
    which = "above" if above else "below"
    return Neighbour(team, above, f"The row {which}: {statement.words(*names)}")
