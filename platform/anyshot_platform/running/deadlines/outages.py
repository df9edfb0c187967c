"""The outages that the site recorded before the end of a phase, and the teams that they hit."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.people.alerts.models import Alert
from anyshot_platform.people.teams.models import Team
from anyshot_platform.running.operations.watch import LOOP_LATE, NO_WORKERS, SITE_DOWN

LOOKED_BACK = timedelta(days=1)  # from the end of the phase, or from now before it


@dataclass(frozen=True)
class Outage:
    """A time without workers for the phase, or in which the site was down or its background work stood still."""

    message: str
    since: datetime
    until: datetime  # at most the end of the phase, or now


def find_outages(session: Session, phase: Phase) -> list[Outage]:
    """The outages of the last day before the end, or before now, the oldest first, each cut to that day."""
    end = min(phase.ends_at or now(), now())
    begin = end - LOOKED_BACK
    without = and_(Alert.kind == NO_WORKERS, Alert.subject == live_version(session, phase).hardware_class)
    query = select(Alert).where(
        or_(without, Alert.kind.in_((LOOP_LATE, SITE_DOWN))),
        Alert.since < end,
        or_(Alert.until.is_(None), Alert.until > begin),
    )
    return [
        Outage(alert.message, max(alert.since, begin), min(alert.until or end, end))
        for alert in session.scalars(query.order_by(Alert.since, Alert.id))
    ]


def minutes_lost(outages: Sequence[Outage]) -> int:
    """How long they lasted together, in minutes, rounded up; what overlaps counts once."""
    lost, reached = timedelta(), None
    for outage in outages:
        since = outage.since if reached is None else max(outage.since, reached)
        lost += max(outage.until - since, timedelta())
        reached = outage.until if reached is None else max(outage.until, reached)
    return ceil(lost.total_seconds() / 60)


def find_hit(session: Session, phase: Phase, outages: Sequence[Outage]) -> list[Team]:
    """The teams with a run of an entry of the phase that waited or ran during an outage, by name."""
    during = [
        and_(Run.created_at < one.until, or_(Run.finished_at.is_(None), Run.finished_at > one.since))
        for one in outages
    ]
    if not during:
        return []
    entered = (Run.phase_id == phase.id, Submission.kind == SubmissionKind.ENTRY)
    ids = (
        select(Run.team_id).join(Submission, Submission.id == Run.submission_id).where(*entered, or_(*during))
    )
    return list(session.scalars(select(Team).where(Team.id.in_(ids)).order_by(Team.name)))
