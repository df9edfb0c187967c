"""What waits for the organizers of a competition, and what happens next in it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from anyshot_core.wire.verdicts import Cause
from anyshot_core.words import in_utc
from anyshot_platform.contest.competitions.actions.people import count_pending
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import CompetitionState
from anyshot_platform.contest.leagues.actions.waiting import count_waiting
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import list_phases, status_of
from anyshot_platform.contest.phases.states import PhaseStatus
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind, SubmissionStatus
from anyshot_platform.judging.visibility.standing import kept

WEEK = timedelta(days=7)


@dataclass(frozen=True)
class Deadline:
    """A phase that opens or ends next."""

    phase: Phase
    moment: datetime
    ends: bool


@dataclass(frozen=True)
class Agenda:
    """What the overview of organizers begins with."""

    people: int  # who wait to be admitted
    entries: int  # that wait for a decision in a league
    failed: int  # submissions that failed within a day
    prevented: int  # submissions that the settings made fail, which nobody has run again
    this_week: int  # uploads
    last_week: int
    deadline: Deadline | None


def read_agenda(session: Session, competition: Competition) -> Agenda:
    """What there is to do now."""
    moment = now()
    return Agenda(
        people=count_pending(session, competition),
        entries=count_waiting(session, competition),
        failed=_count(
            session,
            competition,
            Submission.status == SubmissionStatus.FAILED,
            Submission.finished_at > moment - timedelta(days=1),
        ),
        prevented=_count(
            session,
            competition,
            Submission.status == SubmissionStatus.FAILED,
            Submission.cause == Cause.ORGANIZER,
        ),
        this_week=_count(session, competition, Submission.created_at > moment - WEEK),
        last_week=_count(
            session, competition, Submission.created_at.between(moment - 2 * WEEK, moment - WEEK)
        ),
        deadline=_next(session, competition, in_utc(moment)),
    )


def _count(session: Session, competition: Competition, *conditions: ColumnElement[bool]) -> int:
    query = select(func.count(Submission.id)).where(
        Submission.competition_id == competition.id,
        Submission.kind == SubmissionKind.ENTRY,
        kept(),
        *conditions,
    )
    return session.scalar(query) or 0


def _next(session: Session, competition: Competition, moment: datetime) -> Deadline | None:
    if competition.state == CompetitionState.ARCHIVED:
        return None
    ahead = [
        Deadline(phase, in_utc(when), ends)
        for phase in list_phases(session, competition)
        if status_of(phase, moment) != PhaseStatus.CLOSED
        for when, ends in ((phase.starts_at, False), (phase.ends_at, True))
        if when is not None and in_utc(when) > moment
    ]
    return min(ahead, key=lambda one: one.moment, default=None)
