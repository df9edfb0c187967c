"""What organizers do to phases, over JSON: the same acts as on their pages. A phase is written as in a bundle."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.actions.concurrency import changes_upon, tag_of
from anyshot_platform.actions.declaration import by_name
from anyshot_platform.actions.service import ActOutcome
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.actions import organizing
from anyshot_platform.contest.phases.actions.acts import ACTS
from anyshot_platform.contest.phases.actions.checks import open_protocol, require_sound
from anyshot_platform.contest.phases.actions.differences import flatten, keep_secrets
from anyshot_platform.contest.phases.description import PhaseSpec
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.rows import describe_phase
from anyshot_platform.contest.phases.service import find_phase, list_phases, status_of
from anyshot_platform.contest.phases.states import PhaseStatus
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.visibility.phases import publication_of
from anyshot_platform.running.deadlines.acts import RELIEVE
from anyshot_platform.site.phases.deadline_view import DeadlineOut, read_deadline
from anyshot_platform.site.shell.act_frame import IfMatch
from anyshot_platform.site.shell.act_routes import add_acts
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer, ProvedOrganizer
from anyshot_platform.site.shell.merge_patch import Patch, patched
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/api/v1/competitions/{slug}/manage/phases", tags=["organizing: phases"])
PhaseParam = Annotated[str, Path(max_length=64)]


class PhaseState(BaseModel):
    """A phase: where it stands, and its settings as in a bundle, without the secret seeds."""

    key: str
    status: PhaseStatus
    submissions: int
    live_version: int
    frozen: bool
    published_at: datetime | None
    deleted_at: datetime | None
    settings: PhaseSpec


class PhaseIn(PhaseSpec):
    """The settings of a phase, and what is done as they are saved."""

    newest_pools: bool = Field(
        default=False, description="take the newest versions of its pools; else it keeps those that it has"
    )


@router.get("")
def list_all(access: AsReviewer, session: SessionDep, deleted: bool = False) -> list[PhaseState]:
    """The phases, or the deleted ones."""
    if not deleted:
        return [show(session, phase) for phase in list_phases(session, access.competition)]
    query = select(Phase).where(Phase.competition_id == access.competition.id, Phase.deleted_at.is_not(None))
    return [show(session, phase) for phase in session.scalars(query)]


@router.post("", status_code=201)
def add_phase(access: AsOrganizer, session: SessionDep, body: PhaseSpec) -> PhaseState:
    """Add a phase with its first version."""
    spec = require_sound(session, access.viewer, body)
    phase = organizing.add_phase(session, access.competition, spec, access.viewer.id)
    session.flush()
    return show(session, phase)


@router.get("/{phase_slug}")
def show_phase(
    access: AsReviewer, session: SessionDep, phase_slug: PhaseParam, response: Response
) -> PhaseState:
    """One phase; the ETag of its settings belongs into the `If-Match` of a change."""
    phase = find_phase(session, access.competition, phase_slug)
    response.headers["etag"] = tag_of(flatten(describe_phase(session, phase, "")))
    return show(session, phase)


@router.put("/{phase_slug}")
def change_phase(
    access: ProvedOrganizer,
    session: SessionDep,
    phase_slug: PhaseParam,
    body: PhaseIn,
    if_match: IfMatch = None,
) -> PhaseState:
    """Bring a phase in line with a description; seeds that are left out stay.

    409 `incomparable` where there are submissions and their scores would become incomparable: draft a version.
    """
    phase = find_phase(session, access.competition, phase_slug)
    return _change_phase(access, session, phase, body, if_match)


@router.patch("/{phase_slug}")
def change_part_of_phase(
    access: ProvedOrganizer,
    session: SessionDep,
    phase_slug: PhaseParam,
    body: Patch,
    if_match: IfMatch = None,
) -> PhaseState:
    """Change the settings of a phase that are named, like `{"quota": {"per_day": 5}}`; the others stay.

    A protocol is replaced as a whole. 409 `incomparable` as above.
    """
    phase = find_phase(session, access.competition, phase_slug)
    wanted = patched(PhaseIn(**describe_phase(session, phase, "").model_dump()), body)
    return _change_phase(access, session, phase, wanted, if_match)


def _change_phase(
    access: CompetitionAccess, session: Session, phase: Phase, body: PhaseIn, if_match: str | None
) -> PhaseState:
    old = describe_phase(session, phase, "")
    sent = PhaseSpec.model_construct(**{name: value for name, value in body if name != "newest_pools"})
    spec = require_sound(session, access.viewer, sent, phase, old)
    changes_upon(session, ("phase", phase.id), if_match, flatten(keep_secrets(spec, old)), flatten(old))
    organizing.change_phase(session, phase, spec, access.viewer.id, newest_pools=body.newest_pools)
    session.flush()
    return show(session, phase)


@router.get("/{phase_slug}/deadline")
def show_deadline(
    access: AsReviewer, session: SessionDep, services: ServicesDep, phase_slug: PhaseParam
) -> DeadlineOut:
    """What is under way at the end of a phase: uploads, the queue against the end, outages and whom they hit."""
    return read_deadline(services, session, find_phase(session, access.competition, phase_slug))


def _find(session: Session, competition: Competition, phase_slug: PhaseParam) -> Phase:
    return find_phase(session, competition, phase_slug)


def _find_deleted(session: Session, competition: Competition, phase_slug: PhaseParam) -> Phase:
    deleted = select(Phase).where(Phase.slug == phase_slug, Phase.deleted_at.is_not(None))
    phase = session.scalars(deleted.where(Phase.competition_id == competition.id)).first()
    if phase is None:
        raise NotFound("There is no such deleted phase.")
    return phase


def _after(session: Session, access: CompetitionAccess, phase: Phase, outcome: ActOutcome) -> PhaseState:
    return show(session, phase)


_RESTORE = by_name(ACTS["restore"])
add_acts(
    router,
    {name: act for name, act in ACTS.items() if name not in _RESTORE},
    _find,
    _after,
    at="/{phase_slug}",
)
add_acts(router, by_name(RELIEVE), _find, _after, at="/{phase_slug}")
add_acts(router, _RESTORE, _find_deleted, _after, at="/{phase_slug}")


def show(session: Session, phase: Phase) -> PhaseState:
    """A phase without its secret seeds."""
    spec, publication = describe_phase(session, phase, ""), publication_of(phase)
    protocol = open_protocol(spec.tasks.protocol)
    open_part = {"train_seeds": [], "test_seeds": [], "key": None}
    open_part["protocol"] = protocol
    return PhaseState(
        key=phase.slug,
        status=status_of(phase),
        submissions=organizing.count_submissions(session, phase),
        live_version=phase.live_version,
        frozen=publication.frozen is not None,
        published_at=publication.published,
        deleted_at=phase.deleted_at,
        settings=spec.model_copy(update={"tasks": spec.tasks.model_copy(update=open_part)}),
    )
