"""The organizers' table of submissions, and what they do to them: one or many at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Select, func, or_, select
from sqlalchemy.orm import Session

from anyshot_core.wire.verdicts import Cause
from anyshot_platform.audit import service as audit
from anyshot_platform.competitions.models import Competition
from anyshot_platform.database import now
from anyshot_platform.errors import Conflict, Invalid
from anyshot_platform.intake.service import refresh_boards
from anyshot_platform.judging.kinds import RESCORING, starting_kind
from anyshot_platform.judging.queueing import queue_again, queue_runs
from anyshot_platform.judging.service import NothingToCancel, cancel_submission
from anyshot_platform.kernel.paging import Page, page_of
from anyshot_platform.phases.models import Phase
from anyshot_platform.phases.service import live_version
from anyshot_platform.queue import priorities
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.planning import NotEvaluable, Urgency
from anyshot_platform.runs.states import RunState
from anyshot_platform.sight.standing import filtered, standing_of
from anyshot_platform.submissions.models import Submission
from anyshot_platform.submissions.states import SubmissionKind, SubmissionStatus
from anyshot_platform.teams.models import Team
from anyshot_platform.users.models import User

PAGE_SIZE = 50
_SORTS = {
    "created": Submission.created_at,
    "score": Submission.score,
    "finished": Submission.finished_at,
    "size": Submission.size,
}


class SubmissionAct(StrEnum):
    """What can be done to submissions, in the order of the menu."""

    RERUN = "rerun"
    RESCORE = "rescore"
    CANCEL = "cancel"
    DISQUALIFY = "disqualify"
    QUALIFY = "qualify"
    REFUND = "refund"
    CHARGE = "charge"
    DELETE = "delete"
    RESTORE = "restore"


UNDO = {
    SubmissionAct.DISQUALIFY: SubmissionAct.QUALIFY,
    SubmissionAct.QUALIFY: SubmissionAct.DISQUALIFY,
    SubmissionAct.DELETE: SubmissionAct.RESTORE,
    SubmissionAct.RESTORE: SubmissionAct.DELETE,
    SubmissionAct.REFUND: SubmissionAct.CHARGE,
    SubmissionAct.CHARGE: SubmissionAct.REFUND,
    SubmissionAct.RERUN: SubmissionAct.CANCEL,
    SubmissionAct.RESCORE: SubmissionAct.CANCEL,
}


@dataclass(frozen=True)
class SubmissionFilter:
    """What the table shows."""

    phase: str = ""
    status: str = ""
    cause: str = ""
    kind: str = ""
    text: str = ""
    shown: str = ""  # "", "disqualified", "withdrawn", "deleted", "quarantined"
    sort: str = "-created"


@dataclass(frozen=True)
class SubmissionLine:
    """A line of the table."""

    submission: Submission
    phase: Phase
    team: str
    user: str


@dataclass(frozen=True)
class SubmissionsOutcome:
    """What a bulk act did."""

    act: SubmissionAct
    done: tuple[str, ...]
    skipped: dict[str, str]  # submission id → why


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


def act_on(
    session: Session,
    competition: Competition,
    submissions: Sequence[Submission],
    act: SubmissionAct,
    actor_id: str,
    reason: str = "",
) -> SubmissionsOutcome:
    """Do one thing to many submissions; those to which it cannot be done are skipped with the reason."""
    if act == SubmissionAct.DISQUALIFY and not reason.strip():
        raise Invalid("Give the reason of a disqualification: the team sees it.", field="reason")
    done, skipped = [], {}
    for submission in submissions:
        before = _state_of(submission)
        try:
            _ACTS[act](session, submission, actor_id, reason.strip())
        except (Conflict, NothingToCancel, NotEvaluable) as error:
            skipped[submission.id] = error.message
            continue
        session.flush()
        done.append(submission.id)
        audit.record(
            session,
            actor_id=actor_id,
            action=f"submission.{act.value}",
            object_type="submission",
            object_id=submission.id,
            competition_id=competition.id,
            reason=reason,
            before=before,
            after=_state_of(submission),
        )
    return SubmissionsOutcome(act, tuple(done), skipped)


def _state_of(submission: Submission) -> dict[str, Any]:
    standing = standing_of(submission)
    return {
        "status": submission.status.value,
        "disqualified": standing.disqualified is not None,
        "deleted": standing.deleted,
        "counts_quota": submission.counts_quota,
    }


def _rerun(session: Session, submission: Submission, actor_id: str, reason: str) -> None:
    if submission.status in (SubmissionStatus.QUEUED, SubmissionStatus.RUNNING):
        raise Conflict("is being evaluated already")
    queue_runs(session, submission, live_version(session, submission.phase), Urgency(priorities.RERUN))


def _rescore(session: Session, submission: Submission, actor_id: str, reason: str) -> None:
    kind = starting_kind(submission)
    if not kind.counts:
        raise Conflict(f"is no entry ({kind.title.lower()}) and is run again, not scored again")
    version = live_version(session, submission.phase)
    query = select(Run).where(
        Run.submission_id == submission.id, Run.phase_version_id == version.id, Run.state == RunState.FINISHED
    )
    runs = list(session.scalars(query))
    newest = max((run.generation for run in runs), default=-1)
    sources = [run for run in runs if run.generation == newest]
    if not sources:
        raise Conflict("has no finished run to score again")
    shards = Counter(run.seed_index for run in sources)
    if any(shards[run.seed_index] != run.shard_count for run in sources):
        raise Conflict("has a run of which not all shards are finished")
    for source in sources:
        again = queue_again(session, RESCORING, source, version, Urgency(priorities.RERUN))
        again.generation = newest + 1


def _cancel(session: Session, submission: Submission, actor_id: str, reason: str) -> None:
    cancel_submission(session, submission, by=actor_id)


def _disqualify(session: Session, submission: Submission, actor_id: str, reason: str) -> None:
    if standing_of(submission).disqualified is not None:
        raise Conflict("is disqualified already")
    submission.disqualified_at, submission.disqualified_reason = now(), reason
    session.flush()
    refresh_boards(session, submission)


def _qualify(session: Session, submission: Submission, actor_id: str, reason: str) -> None:
    if standing_of(submission).disqualified is None:
        raise Conflict("is not disqualified")
    submission.disqualified_at, submission.disqualified_reason = None, ""
    session.flush()
    refresh_boards(session, submission)


def _charge(counts: bool) -> Callable[[Session, Submission, str, str], None]:
    def change(session: Session, submission: Submission, actor_id: str, reason: str) -> None:
        if submission.counts_quota == counts:
            raise Conflict("counts already" if counts else "costs no quota already")
        submission.counts_quota = counts
        submission.quota_reason = reason or (
            "by the organizers" if counts else "given back by the organizers"
        )

    return change


def _delete(session: Session, submission: Submission, actor_id: str, reason: str) -> None:
    if standing_of(submission).deleted:
        raise Conflict("is deleted already")
    submission.deleted_at = now()
    session.flush()
    refresh_boards(session, submission)


def _restore(session: Session, submission: Submission, actor_id: str, reason: str) -> None:
    if not standing_of(submission).deleted:
        raise Conflict("is not deleted")
    submission.deleted_at = None
    session.flush()
    refresh_boards(session, submission)


_ACTS: dict[SubmissionAct, Callable[[Session, Submission, str, str], None]] = {
    SubmissionAct.RERUN: _rerun,
    SubmissionAct.RESCORE: _rescore,
    SubmissionAct.CANCEL: _cancel,
    SubmissionAct.DISQUALIFY: _disqualify,
    SubmissionAct.QUALIFY: _qualify,
    SubmissionAct.REFUND: _charge(False),
    SubmissionAct.CHARGE: _charge(True),
    SubmissionAct.DELETE: _delete,
    SubmissionAct.RESTORE: _restore,
}
