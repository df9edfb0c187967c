"""Versions of a phase over JSON: drafted, scored in the background, compared, made live."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from anyshot_platform.actions.service import ActOutcome
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.actions import side_by_side, version_acts, versions
from anyshot_platform.contest.phases.actions.checks import require_sound
from anyshot_platform.contest.phases.description import PhaseSpec
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.rows import describe_phase
from anyshot_platform.contest.phases.service import find_phase, live_version
from anyshot_platform.contest.phases.states import RescoreMode, VersionState
from anyshot_platform.judging.execution.joining import not_queued
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.shell.act_routes import add_acts
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(
    prefix="/api/v1/competitions/{slug}/manage/phases/{phase_slug}/versions", tags=["organizing: phases"]
)
PhaseParam = Annotated[str, Path(max_length=64)]
NumberParam = Annotated[int, Path(ge=1, le=1_000_000)]


class PhaseVersionIn(BaseModel):
    """A draft: the whole description of the phase, as it shall be.

    What it says of the phase itself, such as its times and quotas, is saved at once; the rest waits in the draft.
    """

    model_config = ConfigDict(extra="forbid")

    settings: PhaseSpec
    reason: str = Field(default="", max_length=2000)
    new_key: bool = Field(default=False, description="draw a new key: tasks and splits are others")
    newest_pools: bool = Field(
        default=False, description="take the newest versions of its pools; else it keeps the live version's"
    )


class PhaseVersionOut(BaseModel):
    """A version, and how far its re-scoring is."""

    number: int
    state: VersionState
    live: bool
    reason: str
    created_at: datetime
    rescore_mode: RescoreMode | None
    runs: int
    ended: int
    failed: int


class VersionDetail(PhaseVersionOut):
    """A version beside the live one; `ways` says for each way of re-scoring why it cannot be taken, or null.

    `missing` counts the scored submissions that nobody has scored under it.
    """

    missing: int
    ways: dict[RescoreMode, str | None]
    compared: list[side_by_side.Compared]


class DraftOut(VersionDetail):
    """A draft; `saved` are the settings that decide no scores: they have changed in the phase at once."""

    saved: list[str]


@router.get("")
def list_versions(access: AsReviewer, session: SessionDep, phase_slug: PhaseParam) -> list[PhaseVersionOut]:
    """All versions, oldest first."""
    phase = find_phase(session, access.competition, phase_slug)
    return [_show(session, phase, version) for version in phase.versions]


@router.post("", status_code=201)
def draft_version(
    access: AsOrganizer, session: SessionDep, phase_slug: PhaseParam, body: PhaseVersionIn
) -> DraftOut:
    """Draft a version; it counts nothing until it is made live."""
    phase = find_phase(session, access.competition, phase_slug)
    spec = require_sound(session, access.viewer, body.settings, phase, describe_phase(session, phase, ""))
    drafted = versions.draft_version(
        session,
        phase,
        spec,
        body.reason,
        access.viewer.id,
        new_key=body.new_key,
        newest_pools=body.newest_pools,
    )
    session.flush()
    session.refresh(phase)
    shown = _show_detail(session, phase, drafted.version)
    return DraftOut(**dict(shown), saved=drafted.saved)


@router.get("/{number}")
def show_version(
    access: AsReviewer, session: SessionDep, phase_slug: PhaseParam, number: NumberParam
) -> VersionDetail:
    """A version with old and new scores side by side."""
    phase = find_phase(session, access.competition, phase_slug)
    return _show_detail(session, phase, versions.find_version(session, phase, number))


def _find(
    session: Session, competition: Competition, phase_slug: PhaseParam, number: NumberParam
) -> PhaseVersion:
    return versions.find_version(session, find_phase(session, competition, phase_slug), number)


def _after(
    session: Session, access: CompetitionAccess, version: PhaseVersion, outcome: ActOutcome
) -> VersionDetail:
    return _show_detail(session, version.phase, version)


add_acts(router, version_acts.ACTS, _find, _after, at="/{number}")


def _show(session: Session, phase: Phase, version: PhaseVersion) -> PhaseVersionOut:
    progress = side_by_side.progress_of(session, version)
    return PhaseVersionOut(
        number=version.number,
        state=version.state,
        live=version.number == phase.live_version,
        reason=version.reason,
        created_at=version.created_at,
        rescore_mode=version.rescore_mode,
        runs=progress.total,
        ended=progress.ended,
        failed=progress.failed,
    )


def _show_detail(session: Session, phase: Phase, version: PhaseVersion) -> VersionDetail:
    live = live_version(session, phase)
    other = version is not live
    return VersionDetail(
        **_show(session, phase, version).model_dump(),
        missing=len(not_queued(session, phase, version)) if other else 0,
        ways=versions.ways_of_rescoring(session, phase, version) if other else {},
        compared=side_by_side.compare(session, phase, live, version) if other else [],
    )
