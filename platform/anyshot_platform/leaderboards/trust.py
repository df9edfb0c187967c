"""How sure the order of a board is: each ranked row against the one above it, on the tasks that both met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.judging.pairs import Statement, read_statements
from anyshot_platform.kernel.language import say
from anyshot_platform.kernel.storage import Storage
from anyshot_platform.leaderboards.memo import BoardState, recall
from anyshot_platform.leaderboards.models import BoardRow
from anyshot_platform.leaderboards.reading import BOARD_ORDER, BoardPlace, on_board, read_places
from anyshot_platform.leagues.models import League
from anyshot_platform.phases.models import PhaseVersion


@dataclass(frozen=True)
class Neighbour:
    """A row next to one's own, and in words what the tasks that both met say of the two."""

    team: str
    above: bool
    words: str


def read_against_above(
    session: Session, storage: Storage, version: PhaseVersion, rows: Sequence[BoardRow]
) -> Mapping[str, Statement]:
    """For successive ranked rows, by key: the row above minus this one.

    Rows without a statement are missing: the first one, those whose results of single tasks are gone, and all under
    rules by which two rows alone do not tell their places. A Ladder says nothing: it would tell more than its steps.
    """
    if version.rule.relative or len(rows) < 2 or version.phase.board_shows.tells_steps_alone:
        return {}
    pairs = [(upper.submission_id, lower.submission_id) for upper, lower in pairwise(rows)]
    said = read_statements(session, storage, version, pairs)
    return {row.row_key: found for row, found in zip(rows[1:], said, strict=True) if found}


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
        .where(on_board(version, league), BoardRow.ranked)
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
            found.append(_neighbour(upper.team if above else lower.team, statement, above=above))
    return tuple(found)


def _neighbour(team: str, statement: Statement, *, above: bool) -> Neighbour:
    names = (team, say("your team")) if above else (say("your team"), team)
    which = say("The row above: %(statement)s") if above else say("The row below: %(statement)s")
    return Neighbour(team, above, say(which, statement=statement.words_beside(*names, order=1)))
