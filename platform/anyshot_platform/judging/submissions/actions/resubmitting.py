"""A zip that a team has handed in before is taken again by its digest, without an upload."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.submissions.actions.submitting import Zip, require_trusted
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.standing import kept


class UnknownZip(NotFound):
    """The team has handed in no zip with that digest, or it is no longer kept."""

    code = "unknown_zip"


def known_zip(session: Session, services: Services, membership: Membership | None, digest: str) -> Zip:
    """The zip of an earlier submission of the member's team, with the checks that it passed in that one's phase.

    Raises `UnknownZip` or `NotTrusted`. The digest alone gives nobody another team's zip.
    """
    team_id = membership.team_id if membership is not None else None
    earlier = find_uses(session, team_id, digest)[:1] if team_id else []
    if not earlier or not services.storage.exists(digest):
        raise UnknownZip("Your team has not submitted this zip before. Please upload it.", digest=digest)
    require_trusted(services, digest)
    newest = earlier[0]
    return Zip(newest.filename, digest, newest.size, newest.checks)


def find_uses(session: Session, team_id: str, digest: str) -> Sequence[Submission]:
    """What became of a zip: all submissions of it by the team, the newest first."""
    return session.scalars(
        select(Submission)
        .where(Submission.team_id == team_id, Submission.digest == digest, kept())
        .order_by(Submission.created_at.desc(), Submission.id.desc())
    ).all()
