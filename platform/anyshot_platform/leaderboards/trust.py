"""How sure a team can be of its place: the rows next to it, paired on the same tasks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.judging.tables import counting_tables_of
from anyshot_platform.kernel.storage import Storage
from anyshot_platform.leaderboards.models import BoardRow
from anyshot_platform.leaderboards.reading import BOARD_ORDER, on_board, read_places
from anyshot_platform.leagues.models import League
from anyshot_platform.phases.models import PhaseVersion
from anyshot_scoring.errors import ScoringError
from anyshot_scoring.reliability.matrix import align
from anyshot_scoring.reliability.resampling import resample
from anyshot_scoring.rules import Rule
from anyshot_scoring.table import TaskTable

REPLICATES = 2000
SURE = 0.95


@dataclass(frozen=True)
class Neighbour:
    """A row next to one's own: `above` by one rank, or below; `probability` is the share of redraws with this order."""

    team: str
    above: bool
    lead: float
    probability: float
    words: str


def read_neighbours(
    session: Session, storage: Storage, version: PhaseVersion, league: League, rank: int
) -> tuple[Neighbour, ...]:
    """The ranked rows just above and below `rank`; those whose results of each task are gone are left out.

    The redraws are of tasks of the same datasets, not of datasets or seeds. Their share is no probability that the
    order is the true one: who stands high on a board was often lucky.
    """
    if version.rule.relative:  # two rows alone do not tell their places among all
        return ()
    first = max(rank - 1, 1)
    ids = session.scalars(
        select(BoardRow.id)
        .where(on_board(version, league), BoardRow.ranked)
        .order_by(*BOARD_ORDER)
        .offset(first - 1)
        .limit(rank + 2 - first)
    ).all()
    places = read_places(session, ids)
    of_submission = counting_tables_of(
        session, storage, [place.row.submission_id for place in places], version
    )
    tables = [of_submission[place.row.submission_id] for place in places]
    own = rank - first
    if own >= len(places) or (mine := tables[own]) is None:
        return ()
    found = []
    for index, theirs in enumerate(tables):
        if index == own or theirs is None:
            continue
        above = index < own
        upper, lower = (theirs, mine) if above else (mine, theirs)
        probability = _order_probability(_Pair(upper, lower), version.rule)
        if probability is not None:
            lead = abs(places[index].row.value - places[own].row.value)
            words = _words(places[index].team, above=above, probability=probability)
            found.append(Neighbour(places[index].team, above, lead, probability, words))
    return tuple(found)


def _words(team: str, *, above: bool, probability: float) -> str:
    which = f"{team}, the row {'above' if above else 'below'}, came out {'ahead' if above else 'behind'}"
    shown = "more than 99" if probability > 0.99 else f"{100 * probability:.0f}"
    verdict = "" if probability >= SURE else ": the order is not sure"
    return f"{which} in {shown} of 100 redraws of the tasks{verdict}."


class _Pair:
    """Two submissions' tables as a key of a cache; `read_table` keeps the tables themselves."""

    def __init__(self, upper: list[TaskTable], lower: list[TaskTable]) -> None:
        self.tables = {"upper": upper, "lower": lower}
        self.key = tuple(id(table) for part in (upper, lower) for table in part)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Pair) and other.key == self.key


@lru_cache(maxsize=256)
def _order_probability(pair: _Pair, rule: Rule) -> float | None:
    try:
        drawn = resample(align(pair.tables), replicates=REPLICATES, rule=rule)
    except ScoringError:  # other tasks than ours, or too few of them
        return None
    upper, lower = drawn[:, 0], drawn[:, 1]
    return float((upper > lower).mean() + (upper == lower).mean() / 2)
