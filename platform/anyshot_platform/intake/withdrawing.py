"""A team cancels a submission, takes it off the boards, and puts it back while its phase is open."""

from __future__ import annotations

from sqlalchemy.orm import Session

from anyshot_platform.database import now
from anyshot_platform.intake.service import refresh_boards
from anyshot_platform.judging.service import cancel_submission
from anyshot_platform.phases.service import PhaseNotOpen, closed_since
from anyshot_platform.phases.states import BoardShows
from anyshot_platform.sight.standing import standing_of
from anyshot_platform.submissions.models import Submission
from anyshot_platform.submissions.states import ACTIVE, SubmissionKind


def can_cancel(submission: Submission) -> bool:
    """Whether its team may still cancel what of it has not ended.

    An upload before the close counts, even if it runs after: cancelling it then would be a choice made with what the
    run showed, and would let an earlier submission stand in its place.
    """
    return submission.kind != SubmissionKind.ENTRY or closed_since(submission.phase) is None


def cancel(session: Session, submission: Submission, *, by: str) -> None:
    """Cancel a submission at its team's wish; raises `PhaseNotOpen` once the phase has closed, `NothingToCancel`."""
    if submission.status in ACTIVE and not can_cancel(submission):
        raise PhaseNotOpen(
            f"“{submission.phase.name}” is closed: what was uploaded in time is your team's "
            "choice, and cannot be cancelled any more. When it is scored, your team can withdraw "
            "it; nothing takes its place."
        )
    cancel_submission(session, submission, by=by)


def withdrawing_means(submission: Submission) -> str:
    """What its team is told before it withdraws a submission."""
    if closed_since(submission.phase) is not None:
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
    return (
        "If it is on the leaderboard, it leaves it, and another submission of your team takes "
        "its place if there is one. The quota stays used. You can put it back while the phase "
        "is open."
    )


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
    return standing_of(submission).withdrawn and closed_since(submission.phase) is None


def reinstate(session: Session, submission: Submission) -> None:
    """Undo a withdrawal; raises `PhaseNotOpen` once the phase has closed: the choice was the team's until then."""
    if standing_of(submission).withdrawn:
        if closed_since(submission.phase) is not None:
            raise PhaseNotOpen(
                f"“{submission.phase.name}” is closed: what was withdrawn stays withdrawn. If this "
                "was a mistake, write to the organizers."
            )
        submission.withdrawn_at = None
        session.flush()
        refresh_boards(session, submission)
