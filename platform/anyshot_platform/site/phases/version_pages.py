"""The organizers' pages of a phase's versions: settings, re-scoring, old and new scores side by side."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from anyshot_platform.contest.phases.actions import side_by_side, versions
from anyshot_platform.contest.phases.actions.checks import open_protocol
from anyshot_platform.contest.phases.actions.version_acts import ACTS
from anyshot_platform.contest.phases.service import find_phase, live_version
from anyshot_platform.judging.execution.joining import not_queued
from anyshot_platform.site.shell.act_frame import perform_named
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer, manage_path, render_manage
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/competitions/{slug}/manage/phases", include_in_schema=False)


@router.get("/{phase_slug}/versions/{number}")
def show_version(
    request: Request, access: AsReviewer, session: SessionDep, phase_slug: str, number: int
) -> Response:
    """A version: its settings, its re-scoring, old and new scores side by side."""
    phase = find_phase(session, access.competition, phase_slug)
    version = versions.find_version(session, phase, number)
    live = live_version(session, phase)
    return render_manage(
        request,
        session,
        access,
        "version.html",
        "phases",
        heading=f"{phase.name}, version {number}",
        phase=phase,
        version=version,
        protocol=", ".join(f"{name} {value}" for name, value in open_protocol(version.protocol).items()),
        acts=ACTS,
        live=live,
        ways=versions.ways_of_rescoring(session, phase, version) if version is not live else {},
        missing=len(not_queued(session, phase, version)) if version is not live else 0,
        progress=side_by_side.progress_of(session, version),
        failures=side_by_side.why_without_score(session, version) if version is not live else [],
        rows=side_by_side.compare(session, phase, live, version) if version is not live else [],
    )


@router.post("/{phase_slug}/versions/{number}/{act}")
def act_on_version(
    request: Request,
    access: AsOrganizer,
    session: SessionDep,
    phase_slug: str,
    number: int,
    act: str,
    form: FormDep,
) -> Response:
    """Score again, make live, discard."""
    phase = find_phase(session, access.competition, phase_slug)
    version = versions.find_version(session, phase, number)
    back = manage_path(access, f"/phases/{phase.slug}/versions/{number}")
    return perform_named(request, session, form, ACTS, act, version, access, back)
