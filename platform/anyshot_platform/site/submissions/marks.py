"""What marks a submission in a list: the leagues in which it counts, and whether it is its team's best of the phase."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select, tuple_
from sqlalchemy.orm import Session

from anyshot_platform.entries.choosing import COMPETES
from anyshot_platform.entries.models import Entry
from anyshot_platform.entries.states import EntryState
from anyshot_platform.leagues.models import League
from anyshot_platform.sight.standing import counting
from anyshot_platform.submissions.models import Submission


@dataclass(frozen=True)
class Marks:
    """Of the submissions of a page: the names of the leagues of those that count, and the ids of the best."""

    leagues: dict[str, list[str]]
    best: frozenset[str]


def read_marks(session: Session, submissions: Sequence[Submission]) -> Marks:
    """The marks of these submissions, read with one query each; whether a score may be seen is the caller's."""
    return Marks(_leagues(session, [one.id for one in submissions]), frozenset(_best(session, submissions)))


def _leagues(session: Session, ids: Collection[str]) -> dict[str, list[str]]:
    query = (
        select(Entry.submission_id, League.name)
        .join(League, League.id == Entry.league_id)
        .where(Entry.submission_id.in_(ids), Entry.state == EntryState.STANDING, League.deleted_at.is_(None))
        .order_by(League.position)
    )
    found: dict[str, list[str]] = defaultdict(list)
    for submission_id, name in session.execute(query):
        found[submission_id].append(name)
    return found


def _best(session: Session, submissions: Sequence[Submission]) -> list[str]:
    """Those whose score is the highest of their team in their phase, where it has more than one."""
    wanted = {(one.team_id, one.phase_id) for one in submissions}
    query = (
        select(Submission.team_id, Submission.phase_id, func.max(Submission.score))
        .where(
            tuple_(Submission.team_id, Submission.phase_id).in_(wanted),
            Submission.kind.in_(COMPETES),
            Submission.score.is_not(None),
            counting(),
        )
        .group_by(Submission.team_id, Submission.phase_id)
        .having(func.count() > 1)
    )
    highest = {(team, phase): score for team, phase, score in session.execute(query)}
    return [
        one.id
        for one in submissions
        if one.score is not None
        and one.kind in COMPETES
        and one.score == highest.get((one.team_id, one.phase_id))
    ]
