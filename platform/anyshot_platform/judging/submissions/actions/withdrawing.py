"""A team cancels a submission, takes it off the boards, and puts it back while its phase is open."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.words import decimal_words
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import PhaseNotOpen, closed_since, live_version
from anyshot_platform.contest.phases.states import BoardShows
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.judging.execution.service import cancel_submission
from anyshot_platform.judging.submissions.actions.submitting import refresh_boards
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import ACTIVE, SubmissionKind
from anyshot_platform.judging.visibility.phases import PhaseSight
from anyshot_platform.judging.visibility.standing import kept, standing_of
from anyshot_platform.standings.entries.selection import Succession, find_successions, moves_up


def can_cancel(submission: Submission) -> bool:
    """Whether its team may still cancel what of it has not ended.

    An upload before the close counts, even if it runs after: cancelling it then would be a choice made with what the
    run showed, and would let an earlier submission stand in its place.
    """
    return (
        submission.kind != SubmissionKind.ENTRY or closed_since(submission.phase, submission.team_id) is None
    )


def cancel(session: Session, submission: Submission, *, by: str) -> None:
    """Cancel a submission at its team's wish; raises `PhaseNotOpen` once the phase has closed, `NothingToCancel`."""
    if submission.status in ACTIVE and not can_cancel(submission):
        raise PhaseNotOpen(
            f"“{submission.phase.name}” is closed: what was uploaded in time is your team's "
            "choice, and cannot be cancelled any more. When it is scored, your team can withdraw "
            "it; nothing takes its place."
        )
    cancel_submission(session, submission, by=by)


def withdrawing_means(session: Session, submission: Submission, sight: PhaseSight) -> str:
    """What its team is told before it withdraws a submission; no score, and no choice by scores, that is hidden."""
    if submission.kind == SubmissionKind.LATE:
        return "The leaderboard leaves it out, below its line too. This is for good. The quota stays used."
    if closed_since(submission.phase, submission.team_id) is not None:
        return (
            "If it is on the leaderboard, it leaves it. The phase is closed: this is for good, "
            "and no other submission of your team takes its place. The quota stays used."
        )
    if submission.phase.board_shows == BoardShows.LADDER:
        return (
            "If it is on the leaderboard, it leaves it. On a Ladder nothing takes its place "
            "but a new submission that gains a step. The quota stays used. You can put it back "
            "while the phase is open."
        )
    back = "The quota stays used. You can put it back while the phase is open."
    if not moves_up(submission.phase, submission.team_id):
        return (
            f"If it is on the leaderboard, it leaves it. The board is frozen: nothing takes its place. {back}"
        )
    if not sight.choice:
        return (
            "If it is on the leaderboard, it leaves it, and another submission of your team takes its place if there "
            f"is one. {back}"
        )
    version = live_version(session, submission.phase)
    found = find_successions(session, version, submission.team, {submission.id})
    if not found:
        return f"#{submission.number} is on no leaderboard: withdrawing it changes none. {back}"
    words = " ".join(succession_words(one, scores=sight.scores) for one in found)
    return f"#{submission.number} leaves the leaderboard. {words} {back}"


def succession_words(one: Succession, *, scores: bool) -> str:
    """What a withdrawal changes in a league, with the score of what takes the place where the team sees its scores."""
    if one.after is None:
        return f"{one.league.name}: your team has no entry then."
    score = f" ({decimal_words(one.after.score.value)})" if scores else ""
    return f"{one.league.name}: #{one.after.submission.number}{score} stands again."


def withdraw_together(
    session: Session, phase: Phase, membership: Membership, submission_ids: Sequence[str]
) -> list[Submission]:
    """Withdraw submissions of a member's team to a phase in one act; raises `NotFound` where one is none of them."""
    found = session.scalars(
        select(Submission)
        .where(
            Submission.id.in_(submission_ids),
            Submission.phase_id == phase.id,
            Submission.team_id == membership.team_id,
            kept(),
        )
        .order_by(Submission.number)
    ).all()
    if len(found) != len(set(submission_ids)):
        raise NotFound("Your team has no such submission to this phase.")
    for submission in found:
        withdraw(session, submission)
    return list(found)


def withdraw(session: Session, submission: Submission) -> None:
    """Take a submission off the boards at its team's wish; what it cost of the quota stays spent.

    After the phase has closed it is for good, and no earlier submission of the team takes its place.
    """
    if not standing_of(submission).withdrawn:
        submission.withdrawn_at = now()
        session.flush()
        refresh_boards(session, submission)


def can_reinstate(submission: Submission) -> bool:
    """Whether its team can still undo its withdrawal."""
    return standing_of(submission).withdrawn and closed_since(submission.phase, submission.team_id) is None


def reinstate(session: Session, submission: Submission) -> None:
    """Undo a withdrawal; raises `PhaseNotOpen` once the phase has closed: the choice was the team's until then."""
    if standing_of(submission).withdrawn:
        if closed_since(submission.phase, submission.team_id) is not None:
            raise PhaseNotOpen(
                f"“{submission.phase.name}” is closed: what was withdrawn stays withdrawn. If this "
                "was a mistake, write to the organizers."
            )
        submission.withdrawn_at = None
        session.flush()
        refresh_boards(session, submission)
