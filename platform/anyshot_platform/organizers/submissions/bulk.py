"""One act on many submissions: what it would do to how many, what is left out and why, and what undoes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy.orm import Session

from anyshot_platform.acts.declaration import ActRequest
from anyshot_platform.acts.service import carry_out, preview
from anyshot_platform.errors import Conflict
from anyshot_platform.kernel.language import together
from anyshot_platform.organizers.submissions.acts import ACTS, require_reason
from anyshot_platform.submissions.models import Submission


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
class SubmissionsPreview:
    """What an act would do to many: its sentences, to how many, and how many are left out for which reason."""

    does: tuple[str, ...]
    number: int
    skipped: dict[str, int]


@dataclass(frozen=True)
class SubmissionsOutcome:
    """What a bulk act did."""

    act: SubmissionAct
    done: tuple[str, ...]
    skipped: dict[str, str]  # submission id → why


def preview_many(
    session: Session, submissions: Sequence[Submission], act: SubmissionAct, actor_id: str
) -> SubmissionsPreview:
    """What the act would do to these submissions now."""
    found = [preview(session, ACTS[act.value], row, ActRequest(actor_id)) for row in submissions]
    left_out = Counter(one.done or together(one.refused) for one in found if one.done or one.refused)
    does = next((one.does for one in found if not one.done and not one.refused), ())
    return SubmissionsPreview(does, len(submissions) - left_out.total(), dict(left_out.most_common()))


def act_on(
    session: Session,
    submissions: Sequence[Submission],
    act: SubmissionAct,
    actor_id: str,
    reason: str = "",
) -> SubmissionsOutcome:
    """Do one thing to many submissions; those to which it cannot be done are skipped with the reason."""
    if act == SubmissionAct.DISQUALIFY:
        require_reason(reason)
    done, skipped = [], {}
    for submission in submissions:
        try:
            outcome = carry_out(session, ACTS[act.value], submission, ActRequest(actor_id, reason))
        except Conflict as error:
            skipped[submission.id] = error.message
            continue
        if outcome.changed:
            done.append(submission.id)
        else:
            skipped[submission.id] = outcome.message
    return SubmissionsOutcome(act, tuple(done), skipped)
