"""What an open phase still holds for a team: what counts, what runs, what is left, until when a score is back."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pydantic import BaseModel, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.words import deadline_words
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import end_for
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.filters import count, decimal, duration, join_texts
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.quota import Quota, left_until, read_quota
from anyshot_platform.judging.submissions.states import ACTIVE, SubmissionKind, SubmissionStatus
from anyshot_platform.judging.visibility.phases import PhaseSight
from anyshot_platform.judging.visibility.standing import kept
from anyshot_platform.judging.workers.places import expect_end, expect_start
from anyshot_platform.people.teams.models import Team
from anyshot_platform.site.entries.view import EntryOut, show_entries
from anyshot_platform.site.submissions.rows import submission_title
from anyshot_platform.site.submissions.show import find_version, read_runs, shown_state


class UnderWayOut(BaseModel):
    """A submission of one's team that waits or runs, and when its runs should have ended."""

    submission: str
    number: int
    title: str
    state: str
    earliest: datetime | None = Field(
        description="as the quickest of the last runs of the phase; null where that cannot be told"
    )
    latest: datetime | None = Field(description="as the slowest of them")


class LastMomentOut(BaseModel):
    """Until when to submit so that the score is back before the end, if the run is like the team's last one."""

    submission: str
    number: int
    seconds: float = Field(description="from the start of its first run to the end of its last")
    moment: datetime | None = Field(description="null where no worker takes runs now")
    words: str


class OutlookOut(BaseModel):
    """What an open phase still holds for a team: what counts, what runs, what is left, until when."""

    phase: str
    name: str
    ends_at: datetime | None
    time_zone: str
    rule: str = Field(description="what it means that a run ends after the phase; empty without an end")
    entries: list[EntryOut]
    without_entry: list[str] = Field(description="names of the leagues in which nothing of the team counts")
    under_way: list[UnderWayOut]
    quota: Quota
    left: int | None = Field(
        description="submissions until the end, by all quotas together; null is no limit"
    )
    left_words: str
    last_moment: LastMomentOut | None = Field(
        description="null without an end, where scores are hidden, and before a submission of the team is scored"
    )


def read_outlook(session: Session, phase: Phase, membership: Membership, sight: PhaseSight) -> OutlookOut:
    """The outlook of a member's team in a phase, as far as the phase lets its scores be seen."""
    team, end = session.get_one(Team, membership.team_id), end_for(phase, membership.team_id)
    quota, entries = read_quota(session, team, phase), show_entries(session, phase, membership, sight)
    leagues = session.execute(
        select(League.slug, League.name)
        .where(League.competition_id == phase.competition_id, League.deleted_at.is_(None))
        .order_by(League.position)
    ).all()
    entered = {entry.league for entry in entries}
    left = left_until(quota, end)
    return OutlookOut(
        phase=phase.slug,
        name=phase.name,
        ends_at=end,
        time_zone=phase.time_zone,
        rule=_rule(phase) if end else "",
        entries=entries,
        without_entry=[name for slug, name in leagues if slug not in entered],
        under_way=[_show_under_way(session, one) for one in _find_own(session, phase, team, *ACTIVE)],
        quota=quota,
        left=left,
        left_words=_left_words(quota, left, " until the end" if end else ""),
        last_moment=_find_last_moment(session, phase, team, end) if end and sight.scores else None,
    )


def _find_own(
    session: Session, phase: Phase, team: Team, *statuses: SubmissionStatus
) -> Sequence[Submission]:
    query = select(Submission).where(
        Submission.team_id == team.id,
        Submission.phase_id == phase.id,
        Submission.status.in_(statuses),
        kept(),
    )
    return session.scalars(query.order_by(Submission.created_at, Submission.id)).all()


def _rule(phase: Phase) -> str:
    words = "A submission counts by when it is handed in, also where its run ends after the phase."
    chooses = "Your team can choose among its scores until the end." if phase.team_chooses else ""
    return join_texts((words, chooses))


def _read_runs(session: Session, submission: Submission) -> list[Run]:
    return read_runs(session, submission, find_version(session, submission))


def _show_under_way(session: Session, submission: Submission) -> UnderWayOut:
    runs = _read_runs(session, submission)
    window = expect_end(session, runs)
    return UnderWayOut(
        submission=submission.id,
        number=submission.number,
        title=submission_title(submission),
        state=shown_state(submission, runs),
        earliest=window.earliest if window else None,
        latest=window.latest if window else None,
    )


def _left_words(quota: Quota, left: int | None, until: str) -> str:
    """How many submissions are left in all, and what each quota leaves."""
    each = [
        f"{decimal(allowance.left)} {words}"
        for allowance, words in (
            (quota.day, "today (UTC)"),
            (quota.phase, "in this phase"),
            (quota.concurrent, "more at a time"),
        )
        if allowance.left is not None
    ]
    words = "Any number of submissions" if left is None else count(left, "submission")
    return f"{words} left{until}{': ' * bool(each)}{join_texts(each, by=', ')}."


def _find_last_moment(session: Session, phase: Phase, team: Team, end: datetime) -> LastMomentOut | None:
    scored = _find_own(session, phase, team, SubmissionStatus.FINISHED)
    entries = [one for one in scored if one.kind == SubmissionKind.ENTRY]
    if not entries:
        return None
    last = entries[-1]
    runs = _read_runs(session, last)
    begun = [run.claimed_at for run in runs if run.claimed_at]
    ended = [run.finished_at for run in runs if run.finished_at]
    if not begun or not ended:
        return None
    seconds = (max(ended) - min(begun)).total_seconds()
    start, moment = expect_start(session, runs[0]), None
    if start is not None:
        moment = end - max(start - now(), timedelta()) - timedelta(seconds=seconds)
    run = f"A run like that of #{last.number} ({duration(seconds)})"
    if start is None or moment is None:
        words = f"{run} would wait: no worker can take it now."
    elif moment <= now():
        words = f"{run} would end after the phase: its score comes too late to react."
    else:
        until = deadline_words(moment, phase.time_zone)
        words = f"{run} is back before the end, in time to react, if you submit by {until}."
    return LastMomentOut(submission=last.id, number=last.number, seconds=seconds, moment=moment, words=words)
