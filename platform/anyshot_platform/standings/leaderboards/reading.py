"""Reads leaderboards: pages, one's own rank, the history of the top."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

from sqlalchemy import ColumnElement, and_, func, or_, select, tuple_
from sqlalchemy.orm import Session, aliased

from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.standing import counting
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.leaderboards.memo import BoardState, read_state, recall
from anyshot_platform.standings.leaderboards.models import BoardChange, BoardRow

_MOST_UNRANKED = 500
_MOST_TOPS = 200
_MOST_CHANGES = 1000  # of the rows of a few teams
BOARD_ORDER = (BoardRow.sort_value, BoardRow.submitted_at, BoardRow.id)


@dataclass(frozen=True)
class BoardPlace:
    """A row of a board as it is shown; `rank` is None for baselines and others out of the ranking.

    `name` is what the board calls it; `row` belongs to no session.
    """

    rank: int | None
    row: BoardRow
    name: str
    submission_number: int
    is_baseline: bool


def name_on_board(kind: SubmissionKind, team: str, comment: str, filename: str) -> str:
    """What every board and table calls a row: a baseline by its own name, since all are of the organizers' team."""
    return (comment or filename) if kind == SubmissionKind.BASELINE else team


@dataclass(frozen=True)
class Board:
    """A page of a board: `offset` counts ranked rows, `total` is how many there are."""

    places: tuple[BoardPlace, ...]
    total: int
    offset: int


def read_board(
    session: Session,
    version: PhaseVersion,
    league: League,
    *,
    offset: int = 0,
    limit: int = 100,
    state: BoardState | None = None,
) -> Board:
    """The ranked rows [offset, offset + limit) in order, with the unranked rows that fall between them.

    `state` saves looking it up where the caller knows it.
    """
    state = state or read_state(session, version, league)
    return recall(state, ("page", offset, limit), lambda: find_board(session, version, league, offset, limit))


def find_board(session: Session, version: PhaseVersion, league: League, offset: int, limit: int) -> Board:
    """The same as the transaction sees it, which may not be committed yet."""
    here = on_board(version, league)
    ranked_here = and_(here, BoardRow.ranked)
    total = count_ranked(session, version, league)
    page = select(BoardRow.id).where(ranked_here).order_by(*BOARD_ORDER).offset(offset).limit(limit)
    found = read_places(session, session.scalars(page).all())
    first = count_ranks(session, [found[0].row.id])[found[0].row.id] if found else 1
    numbers = number_rows([place.row for place in found], offset, first)
    ranked = [replace(place, rank=number) for place, number in zip(found, numbers, strict=True)]
    others = select(BoardRow.id).where(here, ~BoardRow.ranked).order_by(*BOARD_ORDER).limit(_MOST_UNRANKED)
    unranked = read_places(session, session.scalars(others).all())
    last_page = offset + len(ranked) >= total
    lower = ranked[0].row.sort_value if ranked and offset > 0 else float("-inf")
    upper = ranked[-1].row.sort_value if ranked and not last_page else float("inf")
    between = [place for place in unranked if lower <= place.row.sort_value < upper]
    places = sorted([*ranked, *between], key=lambda place: (place.row.sort_value, place.row.submitted_at))
    return Board(tuple(places), total, offset)


def read_rank(
    session: Session, version: PhaseVersion, league: League, team_id: str, state: BoardState | None = None
) -> int | None:
    """The rank of a team's row, from 1; None if it has none."""
    state = state or read_state(session, version, league)
    own = BoardRow.row_key == team_id
    return recall(state, ("rank", team_id), lambda: _find_rank(session, version, league, own))


def read_ranks(
    session: Session, version: PhaseVersion, league: League, state: BoardState
) -> Mapping[str, int]:
    """The rank of each team's row, by the team's id."""
    rank = func.rank().over(order_by=(BoardRow.sort_value, BoardRow.submitted_at)).label("rank")
    query = select(BoardRow.row_key, rank).where(on_board(version, league), BoardRow.ranked)
    return recall(state, "ranks", lambda: {row.row_key: row.rank for row in session.execute(query)})


def read_rank_of(
    session: Session, version: PhaseVersion, league: League, submission: Submission
) -> int | None:
    """The rank of a submission, from 1; None where it has no row: on a frozen board another one's may stand."""
    own, key = _row_of(submission), ("rank", submission.id)
    return recall(
        read_state(session, version, league), key, lambda: _find_rank(session, version, league, own)
    )


def find_place_of(
    session: Session, version: PhaseVersion, league: League, submission: Submission
) -> tuple[int, int] | None:
    """A submission's rank and how many are ranked, as the transaction sees them, which may not be committed yet."""
    rank = _find_rank(session, version, league, _row_of(submission))
    return None if rank is None else (rank, count_ranked(session, version, league))


def count_ranked(session: Session, version: PhaseVersion, league: League) -> int:
    """How many rows of a board are ranked."""
    return session.scalar(select(func.count()).where(on_board(version, league), BoardRow.ranked)) or 0


def _row_of(submission: Submission) -> ColumnElement[bool]:
    return and_(BoardRow.row_key == submission.team_id, BoardRow.submission_id == submission.id)


def _find_rank(
    session: Session, version: PhaseVersion, league: League, own: ColumnElement[bool]
) -> int | None:
    found = session.scalar(select(BoardRow.id).where(on_board(version, league), BoardRow.ranked, own))
    return None if found is None else count_ranks(session, [found])[found]


def count_ranks(session: Session, row_ids: Sequence[str]) -> dict[str, int]:
    """The rank of each of these rows, by id: one more than the ranked rows before it, counted in the index alone.

    What a row is ranked by was written by its rule; equal values at the same time share the rank, as in
    `anyshot_scoring.rankings.rank`. Unranked rows are left out.
    """
    before, board = aliased(BoardRow), BoardRow
    count = (
        select(func.count())
        .where(
            before.phase_version_id == board.phase_version_id,
            before.league_id == board.league_id,
            before.ranked,
            tuple_(before.sort_value, before.submitted_at) < tuple_(board.sort_value, board.submitted_at),
        )
        .correlate(board)
        .scalar_subquery()
    )
    found = session.execute(select(board.id, count).where(board.id.in_(row_ids), board.ranked))
    return {row_id: before_it + 1 for row_id, before_it in found}


def count_before(session: Session, row: BoardRow) -> int:
    """How many ranked rows of its board come before a row, in the order in which they are shown."""
    here = (BoardRow.phase_version_id == row.phase_version_id, BoardRow.league_id == row.league_id)
    own = (row.sort_value, row.submitted_at, row.id)
    before = select(func.count()).where(*here, BoardRow.ranked, tuple_(*BOARD_ORDER) < own)
    return session.scalar(before) or 0


def number_rows(rows: Sequence[BoardRow], offset: int = 0, first: int = 1) -> list[int]:
    """The ranks of successive ranked rows of a board, of which the first is at `offset` and has the rank `first`."""
    ranks: list[int] = []
    for place, row in enumerate(rows):
        tied = place > 0 and (row.sort_value, row.submitted_at) == (
            rows[place - 1].sort_value,
            rows[place - 1].submitted_at,
        )
        ranks.append(ranks[-1] if tied else offset + place + 1 if place else first)
    return ranks


def group_equal(places: Sequence[BoardPlace]) -> list[list[BoardPlace]]:
    """Successive ranked places in groups, each of places that are equal but for the moment of submission."""
    return [list(group) for _, group in groupby(places, key=lambda place: place.row.sort_value)]


@dataclass(frozen=True)
class TopValue:
    """The best score on a board from a moment on."""

    at: datetime
    score: float
    team: str


def read_history(
    session: Session, version: PhaseVersion, league: League, state: BoardState | None = None
) -> tuple[TopValue, ...]:
    """The moments at which the top of a board rose, oldest first: the last two hundred of them.

    None under relative rules, where the top is not the highest score.
    """
    if version.rule.relative:
        return ()
    state = state or read_state(session, version, league)
    return recall(state, "history", lambda: _find_history(session, version, league))


def _find_history(session: Session, version: PhaseVersion, league: League) -> tuple[TopValue, ...]:
    outside = session.scalars(
        select(Team.id).where(Team.out_of_ranking, Team.competition_id == league.competition_id)
    )
    return _find_rises(session, version, league, frozenset(outside))


def _find_rises(
    session: Session, version: PhaseVersion, league: League, outside: Set[str]
) -> tuple[TopValue, ...]:
    """The rises are picked out by the database, since a board has many more changes than tops."""
    order = (BoardChange.at, BoardChange.id)
    changes = (
        select(
            BoardChange.at,
            BoardChange.id,
            BoardChange.team_id,
            BoardChange.value,
            func.max(BoardChange.value).over(order_by=order, rows=(None, -1)).label("top_before"),
        )
        .where(*_changes_told(version, league), BoardChange.team_id.not_in(outside))
        .subquery()
    )
    rises = session.execute(
        select(changes.c.at, changes.c.value, Team.name)
        .join(Team, Team.id == changes.c.team_id)
        .where(or_(changes.c.top_before.is_(None), changes.c.value > changes.c.top_before))
        .order_by(changes.c.at.desc(), changes.c.id.desc())
        .limit(_MOST_TOPS)
    ).all()
    return tuple(TopValue(at, value, team) for at, value, team in reversed(rises))


def _changes_told(version: PhaseVersion, league: League) -> tuple[ColumnElement[bool], ...]:
    """The changes of a board by submissions that count, of teams that stand on it: a frozen one may lack some."""
    return (
        BoardChange.phase_version_id == version.id,
        BoardChange.league_id == league.id,
        BoardChange.value.is_not(None),
        BoardChange.submission_id.in_(select(Submission.id).where(counting())),
        BoardChange.team_id.in_(select(BoardRow.team_id).where(on_board(version, league))),
    )


def read_lines(
    session: Session, version: PhaseVersion, league: League, team_ids: Sequence[str], state: BoardState
) -> dict[str, tuple[TopValue, ...]]:
    """The values that the rows of these teams took, oldest first, by team: the last so many of all."""
    key = ("lines", *sorted(team_ids))
    return recall(state, key, lambda: _find_lines(session, version, league, team_ids))


def _find_lines(
    session: Session, version: PhaseVersion, league: League, team_ids: Sequence[str]
) -> dict[str, tuple[TopValue, ...]]:
    rows = session.execute(
        select(BoardChange.team_id, BoardChange.at, BoardChange.value, Team.name)
        .join(Team, Team.id == BoardChange.team_id)
        .where(*_changes_told(version, league), BoardChange.team_id.in_(team_ids))
        .order_by(BoardChange.at.desc(), BoardChange.id.desc())
        .limit(_MOST_CHANGES)
    ).all()
    lines: dict[str, list[TopValue]] = {}
    for team_id, at, value, name in reversed(rows):
        if value is not None:
            lines.setdefault(team_id, []).append(TopValue(at, value, name))
    return {team_id: tuple(line) for team_id, line in lines.items()}


def on_board(version: PhaseVersion, league: League) -> ColumnElement[bool]:
    """The rows of one board."""
    return and_(BoardRow.phase_version_id == version.id, BoardRow.league_id == league.id)


def read_places(session: Session, row_ids: Sequence[str]) -> list[BoardPlace]:
    """The rows with these ids, in their order, with names and without ranks.

    A page's ids are chosen first, from the index where that is enough: names and the scores of each dataset, the wide
    part, are then read for the rows of the page only. They are taken out of the session, so that they can be kept.
    """
    if not row_ids:
        return []
    rows = session.execute(
        select(
            BoardRow, Team.name, Submission.number, Submission.filename, Submission.kind, Submission.comment
        )
        .join(Team, Team.id == BoardRow.team_id)
        .join(Submission, Submission.id == BoardRow.submission_id)
        .where(BoardRow.id.in_(row_ids))
    ).all()
    for found in rows:
        session.expunge(found[0])
    places = {
        row.id: BoardPlace(
            rank=None,
            row=row,
            name=name_on_board(kind, team, comment, filename),
            submission_number=number,
            is_baseline=kind == SubmissionKind.BASELINE,
        )
        for row, team, number, filename, kind, comment in rows
    }
    return [places[row_id] for row_id in row_ids]
