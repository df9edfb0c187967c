"""From an upload, or the digest of an earlier zip, to a queued submission: one way for the form and for the API."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.service import require_participant
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import find_phase, require_taking
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.submissions.actions.resubmitting import known_zip
from anyshot_platform.judging.submissions.actions.submitting import (
    BadArchive,
    CountedMoment,
    Wishes,
    Zip,
    check_again,
    check_zip,
    conditions_of,
    store_zip,
    submit,
)
from anyshot_platform.judging.submissions.arrivals import (
    Arrival,
    find_begun,
    moment_that_counts,
    place_of,
    take_place,
)
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.uploads import drop_upload, forget_upload, sealed_upload, use_up
from anyshot_platform.judging.visibility.access import (
    CompetitionAccess,
    find_access,
    find_competition,
    require_visible,
)
from anyshot_platform.people.users.viewer import Viewer

T = TypeVar("T")


@dataclass(frozen=True)
class ZipSource:
    """A complete upload, by its id; or a zip that the team submitted before, by its `digest`."""

    upload_id: str = ""
    digest: str = ""


@dataclass(frozen=True)
class Door:
    """The phase that is handed in to, who knocks and when, and with what."""

    viewer: Viewer
    competition: str
    phase: str
    arrival: Arrival
    source: ZipSource

    def enter(self, session: Session) -> tuple[CompetitionAccess, Phase, datetime]:
        """Who enters, where, and the moment that counts.

        Raises `NotFound` or `CannotJoin` where the viewer may not submit, `PhaseNotOpen` where nobody may.
        """
        access = look_in(session, self.viewer, self.competition)
        phase = find_phase(session, access.competition, self.phase)
        moment = self.moment(session, phase, access.team_id)
        require_taking(phase, moment, access.team_id)
        return access, phase, moment

    def moment(self, session: Session, phase: Phase, team_id: str | None) -> datetime:
        """The moment that counts for what is handed in, or would for the upload that the viewer has begun."""
        upload = find_begun(session, self.viewer.id, self.source.upload_id, self.source.digest)
        return moment_that_counts(phase, place_of(session, self.arrival), upload, team_id)


def look_in(session: Session, viewer: Viewer, competition: str) -> CompetitionAccess:
    """A participant's access to a competition; raises `NotFound` or `CannotJoin`."""
    access = find_access(session, viewer, find_competition(session, competition))
    require_visible(access)
    require_participant(access.membership)
    return access


def hand_in(
    services: Services,
    door: Door,
    *,
    wish: Callable[[CompetitionAccess], Wishes],
    show: Callable[[Session, Submission, CompetitionAccess], T],
) -> T:
    """Check a zip, queue it as a submission, and return what `show` makes of that in the same transaction.

    Whether the viewer may is asked before the zip is read, and again when it is queued; no transaction is open in
    between. `wish` says what comes with the zip. Raises what `Door.enter`, `known_zip`, `store_zip`, `submit` raise.
    """
    source, archive = door.source, _fetch(services, door, wish)
    with services.database.writing() as session:
        access, phase, moment = door.enter(session)
        if source.upload_id:
            use_up(session, source.upload_id)
        take_place(session, door.arrival)
        arrived = CountedMoment(moment, door.arrival.moment)
        submission = submit(
            session, access.competition, phase, access.membership, archive, wish(access), arrived
        )
        shown = show(session, submission, access)
    if source.upload_id:
        drop_upload(services, source.upload_id)
    return shown


def _fetch(services: Services, door: Door, wish: Callable[[CompetitionAccess], Wishes]) -> Zip:
    source = door.source
    with services.database.reading() as session:
        access, phase, _ = door.enter(session)
        conditions = conditions_of(session, phase, smoke=wish(access).smoke)
        known = known_zip(session, services, access.membership, source.digest) if source.digest else None
    if known is not None:
        return check_again(services, door.viewer.id, known, conditions)
    with sealed_upload(services, door.viewer.id, source.upload_id) as (upload, path, digest):
        try:
            return store_zip(services, path, upload, digest, conditions)
        except BadArchive:
            # One that another phase or a smoke test would take can be sent there; any other is of no use.
            if conditions.train_datasets is None or not check_zip(path).ok:
                forget_upload(services, upload.id)
            raise
