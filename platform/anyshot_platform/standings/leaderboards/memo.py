"""What was found out about a board, kept as long as the board stays as it is.

A board changes when a score arrives, and is read a thousand times in between. Whatever changes what a board shows
leaves a `BoardChange`; the newest one is the state that findings belong to, and looking it up costs one step in an
index.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.database import now
from anyshot_platform.standings.leaderboards.models import BoardChange

T = TypeVar("T")
_MOST = 4096  # findings in a process
# A transaction may commit after one that began later, and then is not the newest change: findings about a board that
# changed a moment ago are kept for a moment only.
_SETTLED_AFTER = timedelta(minutes=1)
_UNSETTLED_SECONDS = 3.0


@dataclass(frozen=True)
class BoardState:
    """A board as its newest change left it; `at` is None before the first one."""

    board: tuple[str, str]  # ids of phase version and league
    change: int | None
    at: datetime | None
    settled: bool


@dataclass(frozen=True)
class _Finding:
    change: int | None
    value: Any
    until: float  # monotonic


_findings: OrderedDict[Hashable, _Finding] = OrderedDict()
_guard = threading.Lock()


def read_state(session: Session, version: PhaseVersion, league: League) -> BoardState:
    """The state that a board is in."""
    newest = session.execute(
        select(BoardChange.id, BoardChange.at)
        .where(BoardChange.phase_version_id == version.id, BoardChange.league_id == league.id)
        .order_by(BoardChange.at.desc(), BoardChange.id.desc())
        .limit(1)
    ).first()
    board = (version.id, league.id)
    if newest is None:
        return BoardState(board, None, None, settled=True)
    return BoardState(board, newest.id, newest.at, settled=now() - newest.at > _SETTLED_AFTER)


def recall(state: BoardState, key: Hashable, find: Callable[[], T]) -> T:
    """What `find` found about the board in this state under this key; it is asked only where nobody remembers.

    Findings are shared between threads and outlive their session: they must be frozen and hold no rows of it.
    """
    place = (*state.board, key)
    known = _findings.get(place)
    if known is not None and known.change == state.change and time.monotonic() < known.until:
        return known.value
    found = find()
    seconds = float("inf") if state.settled else _UNSETTLED_SECONDS
    with _guard:
        _findings[place] = _Finding(state.change, found, time.monotonic() + seconds)
        _findings.move_to_end(place)
        while len(_findings) > _MOST:
            _findings.popitem(last=False)
    return found


def forget_all() -> None:
    """Forget every finding: for a process that is given another database, in which the same ids mean other rows."""
    with _guard:
        _findings.clear()
