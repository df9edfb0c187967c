"""Which moment counts for a submission: of its upload, of its hand-in, or of a ticket, which keeps a place."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_core.words import moment_words
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import end_for
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.judging.submissions.models import Submission, Upload, UsedTicket
from anyshot_platform.judging.submissions.states import SubmissionKind, UploadPurpose

PLACE_KEPT = timedelta(minutes=15)  # in which a request that was refused for load can come again as the same


@dataclass(frozen=True)
class Arrival:
    """When a request arrived; where it was refused for load before, when that was, and the `mark` of its ticket."""

    moment: datetime
    refused_at: datetime | None = None
    mark: str = ""


def place_of(session: Session, arrival: Arrival) -> datetime:
    """The moment by which a request stands: of its ticket, unless that was used, else of its arrival."""
    if arrival.refused_at is None or session.get(UsedTicket, arrival.mark) is not None:
        return arrival.moment
    return arrival.refused_at


def take_place(session: Session, arrival: Arrival) -> datetime:
    """`place_of`, using the ticket up in this transaction: it stands for one upload or submission."""
    moment = place_of(session, arrival)
    if moment != arrival.moment:
        session.add(UsedTicket(mark=arrival.mark))
        session.flush()
    return moment


def moment_that_counts(phase: Phase, asked: datetime, upload: Upload | None, team_id: str | None) -> datetime:
    """The moment by which a submission is in time or late, stands in order, and costs quota.

    That is when its hand-in was `asked` for. After the end for its team it is when its upload began, where that was
    before the end and the upload was complete within the grace, and handed in within the grace of that.
    """
    end = end_for(phase, team_id)
    if upload is None or end is None:
        return asked
    begun, complete = upload.begun_at or asked, upload.completed_at or asked
    grace = timedelta(seconds=phase.grace_seconds)
    if complete > end + grace:
        return max(asked, complete)
    kept = begun < end <= asked <= max(complete, end) + grace
    return begun if kept else asked


def count_under_way(session: Session, phase: Phase) -> int:
    """How many uploads of members began before the phase's end, and may still be handed in to it."""
    if phase.ends_at is None or phase.closed_at is not None:
        return 0
    last = phase.ends_at + 2 * timedelta(seconds=phase.grace_seconds)
    members = select(Membership.user_id).where(Membership.competition_id == phase.competition_id)
    under_way = select(func.count(Upload.id)).where(
        Upload.purpose == UploadPurpose.SUBMISSION,
        Upload.used_at.is_(None),
        Upload.begun_at < phase.ends_at,
        Upload.user_id.in_(members),
    )
    return (session.scalar(under_way) or 0) if now() <= last else 0


def words_on_counting(submission: Submission) -> str:
    """Which moment counts for a submission, where that is not when it arrived, and whether it is late; else empty."""
    counts = moment_words(submission.created_at, "seconds")
    begun = late = ""
    if submission.arrived_at is not None:
        arrived = moment_words(submission.arrived_at, "seconds")
        begun = f"It counts as of {counts}, when handing it in began; it arrived at {arrived}."
    if submission.kind == SubmissionKind.LATE:
        late = (
            f"It is late: it came at {counts}, after the end of the phase. It is scored and never ranked, unless the "
            "organizers move the end past that moment."
        )
    return join_texts((begun, late))


def find_begun(session: Session, user_id: str, upload_id: str = "", digest: str = "") -> Upload | None:
    """The user's upload that a hand-in is of: by its id, else the newest unused one, of a digest where it is given."""
    own = select(Upload).where(
        Upload.user_id == user_id, Upload.purpose == UploadPurpose.SUBMISSION, Upload.used_at.is_(None)
    )
    if upload_id or digest:
        own = own.where(Upload.id == upload_id if upload_id else Upload.digest == digest)
    return session.scalars(own.order_by(Upload.begun_at.desc().nulls_last()).limit(1)).first()
