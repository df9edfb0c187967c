"""Quotas: counted under the lock of the team's row."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from pydantic import computed_field
from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from anyshot_core.wire.verdicts import Cause
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import TooMany
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import HANDED_IN, SubmissionKind, SubmissionStatus
from anyshot_platform.people.teams.models import Team


class QuotaUsedUp(TooMany):
    """The team has no submission left."""

    code = "quota_used_up"


@dataclass(frozen=True)
class Allowance:
    """One quota; `limit` null is unlimited."""

    used: int
    limit: int | None

    @computed_field
    @property
    def left(self) -> int | None:
        """How many are left."""
        return None if self.limit is None else max(self.limit - self.used, 0)


@dataclass(frozen=True)
class Quota:
    """What a team may still submit to a phase. Days are UTC."""

    day: Allowance
    phase: Allowance
    concurrent: Allowance
    smoke_day: Allowance


def lock_team(session: Session, team_id: str) -> Team:
    """The team, its row locked until the transaction ends (SQLite has one writer at a time anyway)."""
    return session.execute(select(Team).where(Team.id == team_id).with_for_update()).scalar_one()


def read_quota(session: Session, team: Team, phase: Phase, today: date | None = None) -> Quota:
    """What is used and allowed."""
    today = today or now().date()
    own = (Submission.team_id == team.id, Submission.phase_id == phase.id)
    counted = (*own, Submission.kind.in_(HANDED_IN), Submission.counts_quota)
    charged = or_(Submission.quota_reason == "", Submission.cause == Cause.USER)

    def count(*conditions: object) -> int:
        return session.scalar(select(func.count(Submission.id)).where(*conditions)) or 0  # pyright: ignore[reportArgumentType]

    return Quota(
        day=Allowance(
            count(*counted, Submission.quota_day == today), _plus(phase.quota_day, team.extra_quota_day)
        ),
        phase=Allowance(count(*counted), _plus(phase.quota_phase, team.extra_quota_phase)),
        concurrent=Allowance(
            count(
                *own,
                Submission.kind.in_(HANDED_IN),
                Submission.status.in_([SubmissionStatus.QUEUED, SubmissionStatus.RUNNING]),
            ),
            phase.quota_concurrent,
        ),
        smoke_day=Allowance(
            count(*own, charged, Submission.kind == SubmissionKind.SMOKE, Submission.quota_day == today),
            phase.smoke_quota_day,
        ),
    )


def left_until(quota: Quota, end: datetime | None, today: date | None = None) -> int | None:
    """How many submissions the quotas leave from now until the `end` of the phase; None: as many as one likes."""
    a_day, left = quota.day.limit, quota.phase.left
    if a_day is None or end is None:
        return left
    days = ((end - timedelta(microseconds=1)).date() - (today or now().date())).days
    by_day = (quota.day.left or 0) + max(days, 0) * a_day
    return by_day if left is None else min(by_day, left)


def require_quota(quota: Quota, *, smoke: bool) -> None:
    """Raise `QuotaUsedUp` with words that say which quota, and when there is more."""
    checks = (
        [
            (
                quota.smoke_day,
                "Your team has used today's smoke tests. The next day begins at 00:00 UTC.",
            )
        ]
        if smoke
        else [
            (quota.phase, "Your team has used all its submissions to this phase."),
            (
                quota.day,
                "Your team has used today's submissions. The next day begins at 00:00 UTC.",
            ),
            (
                quota.concurrent,
                ("Earlier submissions of your team are still being evaluated. Please wait for one to end."),
            ),
        ]
    )
    for allowance, words in checks:
        if allowance.left == 0:
            raise QuotaUsedUp(words, used=allowance.used, limit=allowance.limit)


def _plus(limit: int | None, extra: int) -> int | None:
    return None if limit is None else limit + extra
