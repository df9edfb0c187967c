"""The organizers' table of submissions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Select, func, or_, select
from sqlalchemy.orm import Session

from anyshot_core.wire.verdicts import Cause
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.paging import Page, page_of
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind, SubmissionStatus
from anyshot_platform.judging.visibility.standing import filtered
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User

PAGE_SIZE = 50
Word = Annotated[str, Field(max_length=100)]
_SORTS = {
    "created": Submission.created_at,
    "score": Submission.score,
    "finished": Submission.finished_at,
    "size": Submission.size,
}


class SubmissionFilter(BaseModel):
    """Which submissions; an empty word filters nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    phase: Word = ""
    status: Word = ""
    cause: Word = ""
    kind: Word = ""
    text: Annotated[Word, Field(description="in team, user, comment; or the beginning of an id")] = ""
    shown: Annotated[Word, Field(description="disqualified, withdrawn, deleted or quarantined ones")] = ""
    sort: Annotated[Word, Field(description="created, score, finished, size; - reverses")] = "-created"


@dataclass(frozen=True)
class SubmissionLine:
    """A line of the table."""

    submission: Submission
    phase: Phase
    team: str
    user: str


def find_submissions(
    session: Session, competition: Competition, wanted: SubmissionFilter, number: int = 1
) -> tuple[list[SubmissionLine], Page]:
    """One page of the table. Counting and sorting use the indexes; names are read for the page's rows only."""
    conditions = _conditions(session, competition, wanted)
    total = session.scalar(select(func.count(Submission.id)).where(*conditions)) or 0
    page = page_of(number, PAGE_SIZE, total)
    descending, key = wanted.sort.startswith("-"), wanted.sort.lstrip("-")
    column = _SORTS.get(key, Submission.created_at)
    ids = _ids_of_page(session, conditions, column, descending, page)
    rows = {
        row.submission.id: row for row in _named(session, select(Submission).where(Submission.id.in_(ids)))
    }
    return [rows[identity] for identity in ids], page


def _ids_of_page(
    session: Session, conditions: list[Any], column: Any, descending: bool, page: Page
) -> list[str]:
    """The ids of a page. Rows without a value come last in either direction, as a second list: so both
    halves, and pages counted from their end, walk an index instead of sorting all rows."""
    start, stop = page.offset, min(page.offset + page.size, page.total)
    if not column.nullable:
        return _slice(session, conditions, (column, Submission.id), descending, start, stop, page.total)
    known = session.scalar(select(func.count(Submission.id)).where(*conditions, column.is_not(None))) or 0
    with_value = [*conditions, column.is_not(None)]
    ids = _slice(
        session, with_value, (column, Submission.id), descending, min(start, known), min(stop, known), known
    )
    without = [*conditions, column.is_(None)]
    rest = max(start - known, 0), max(stop - known, 0)
    return ids + _slice(session, without, (Submission.id,), descending, *rest, page.total - known)


def _slice(
    session: Session,
    conditions: list[Any],
    order: Sequence[Any],
    descending: bool,
    start: int,
    stop: int,
    total: int,
) -> list[str]:
    """The ids at places [start, stop) of `total`; what lies nearer to the end is counted from there."""
    if stop <= start:
        return []
    from_end = start > total - stop
    backwards = descending != from_end
    found = list(
        session.scalars(
            select(Submission.id)
            .where(*conditions)
            .order_by(*(part.desc() if backwards else part for part in order))
            .offset(total - stop if from_end else start)
            .limit(stop - start)
        )
    )
    return found[::-1] if from_end else found


def _conditions(session: Session, competition: Competition, wanted: SubmissionFilter) -> list[Any]:
    conditions: list[Any] = [Submission.competition_id == competition.id]
    if wanted.phase:
        conditions.append(
            Submission.phase_id
            == select(Phase.id)
            .where(Phase.competition_id == competition.id, Phase.slug == wanted.phase)
            .scalar_subquery()
        )
    for word, words, column in (
        (wanted.status, SubmissionStatus, Submission.status),
        (wanted.cause, Cause, Submission.cause),
        (wanted.kind, SubmissionKind, Submission.kind),
    ):
        if word in set(words):
            conditions.append(column == words(word))
    if not wanted.kind:
        conditions.append(Submission.kind != SubmissionKind.SMOKE)
    conditions += filtered(wanted.shown)
    if wanted.shown == "quarantined":
        conditions.append(Submission.quarantined)
    if wanted.text.strip():
        conditions.append(_matches(session, competition, wanted.text.strip()))
    return conditions


def _matches(session: Session, competition: Competition, text: str) -> Any:
    """Team, user, comment or the beginning of an id; names are looked up first, so that the index is used."""
    pattern = f"%{text.casefold()}%"
    teams = list(
        session.scalars(
            select(Team.id)
            .where(Team.competition_id == competition.id, Team.name_key.like(pattern))
            .limit(500)
        )
    )
    users = list(session.scalars(select(User.id).where(User.username_key.like(pattern)).limit(500)))
    return or_(
        Submission.team_id.in_(teams),
        Submission.user_id.in_(users),
        Submission.id.startswith(text.lower(), autoescape=True),
        Submission.comment.ilike(f"%{text}%"),
    )


def _named(session: Session, query: Select[Any]) -> list[SubmissionLine]:
    submissions = list(session.scalars(query))
    teams = dict(
        session.execute(select(Team.id, Team.name).where(Team.id.in_([s.team_id for s in submissions]))).all()
    )
    users = dict(
        session.execute(
            select(User.id, User.username).where(User.id.in_([s.user_id for s in submissions]))
        ).all()
    )
    return [
        SubmissionLine(s, s.phase, teams.get(s.team_id, ""), users.get(s.user_id, "")) for s in submissions
    ]


def pick(
    session: Session, competition: Competition, ids: Sequence[str], wanted: SubmissionFilter | None = None
) -> list[Submission]:
    """The submissions of these ids, or, with `wanted`, all that the table's filter shows."""
    if wanted is not None:
        return list(session.scalars(select(Submission).where(*_conditions(session, competition, wanted))))
    query = select(Submission).where(
        Submission.competition_id == competition.id, Submission.id.in_(list(ids))
    )
    return list(session.scalars(query))
