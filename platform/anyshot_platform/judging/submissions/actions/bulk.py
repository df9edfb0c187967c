"""One act on many submissions, and what undoes it."""

from collections.abc import Sequence
from enum import StrEnum

from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import ActRequest, Consent
from anyshot_platform.actions.many import ManyDone, do_to_many
from anyshot_platform.actions.service import NO_CONSENT
from anyshot_platform.judging.submissions.actions.acts import ACTS, require_reason
from anyshot_platform.judging.submissions.models import Submission


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


def act_on(
    session: Session,
    submissions: Sequence[Submission],
    act: SubmissionAct,
    actor_id: str,
    reason: str = "",
    consent: Consent = NO_CONSENT,
) -> ManyDone:
    """Do one thing to many submissions, as `do_to_many`."""
    if act == SubmissionAct.DISQUALIFY:
        require_reason(reason)
    return do_to_many(session, ACTS[act.value], submissions, ActRequest(actor_id, reason), consent)
