"""What became of a submission (disqualified, withdrawn, deleted), and which ones count on boards and as entries."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_

from anyshot_platform.contest.phases.service import closed_since
from anyshot_platform.judging.submissions.models import Submission


@dataclass(frozen=True)
class Standing:
    """What became of a submission; `disqualified` is the reason, None where it is not."""

    disqualified: str | None
    withdrawn: bool
    deleted: bool
    code_published: datetime | None

    @property
    def counts(self) -> bool:
        """Whether it may stand on boards, enter another phase, and have its code published."""
        return self.disqualified is None and not self.withdrawn and not self.deleted


def standing_of(submission: Submission) -> Standing:
    """What became of a submission."""
    return Standing(
        disqualified=submission.disqualified_reason if submission.disqualified_at is not None else None,
        withdrawn=submission.withdrawn_at is not None,
        deleted=submission.deleted_at is not None,
        code_published=submission.code_published_at,
    )


def kept() -> ColumnElement[bool]:
    """Submissions that are not deleted: what lists show and counts count."""
    return Submission.deleted_at.is_(None)


def counting() -> ColumnElement[bool]:
    """Submissions that stand: the condition of `Standing.counts`."""
    return and_(
        Submission.disqualified_at.is_(None),
        Submission.withdrawn_at.is_(None),
        Submission.deleted_at.is_(None),
    )


def was_withdrawn_late(submission: Submission) -> bool:
    """Whether its team withdrew it when the phase had closed, and it would stand if they had not."""
    withdrawn, closed = submission.withdrawn_at, closed_since(submission.phase, submission.team_id)
    if withdrawn is None or closed is None or withdrawn < closed:
        return False
    return submission.disqualified_at is None and submission.deleted_at is None


def filtered(word: str) -> list[ColumnElement[bool]]:
    """The condition of an organizer's filter; deleted ones are left out unless asked for."""
    if word == "deleted":
        return [Submission.deleted_at.is_not(None)]
    columns = {"disqualified": Submission.disqualified_at, "withdrawn": Submission.withdrawn_at}
    return [kept(), *([columns[word].is_not(None)] if word in columns else [])]
