"""The organizers' pages of a phase's versions: settings, re-scoring, old and new scores side by side."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from anyshot_platform.competitions.manage_frame import (
    AsOrganizer,
    AsReviewer,
    act,
    manage_path,
    render_manage,
)
from anyshot_platform.errors import Invalid
from anyshot_platform.phases import side_by_side, versions
from anyshot_platform.phases.checks import open_protocol
from anyshot_platform.phases.service import find_phase, live_version
from anyshot_platform.phases.states import RescoreMode
from anyshot_platform.web.forms import FormDep
from anyshot_platform.web.services import SessionDep

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
        protocol=open_protocol(version.protocol),
        live=live,
        ways=versions.ways_of_rescoring(session, phase, version) if version is not live else {},
        progress=side_by_side.progress_of(session, version),
        failures=side_by_side.why_without_score(session, version) if version is not live else [],
        rows=side_by_side.compare(session, phase, live, version) if version is not live else [],
    )


@router.post("/{phase_slug}/versions/{number}/{deed}")
def act_on_version(
    access: AsOrganizer, session: SessionDep, phase_slug: str, number: int, deed: str, form: FormDep
) -> Response:
    """Re-score, make live, give up."""
    phase = find_phase(session, access.competition, phase_slug)
    version = versions.find_version(session, phase, number)
    actor = access.viewer.id
    target = manage_path(access, f"/phases/{phase.slug}/versions/{number}")

    def rescore() -> str:
        if form.text("mode") not in set(RescoreMode):
            raise Invalid("Choose how to score again.")
        queued = versions.start_rescoring(session, phase, version, RescoreMode(form.text("mode")), actor)
        return f"{queued} runs are queued."

    deeds: dict[str, tuple[Any, str]] = {
        "rescore": (rescore, ""),
        "live": (lambda: versions.make_live(session, phase, version, actor), f"Version {number} is live."),
        "discard": (
            lambda: versions.discard(session, phase, version, actor),
            f"Version {number} is given up.",
        ),
    }
    if deed not in deeds:
        raise Invalid("There is no such act.")
    work, message = deeds[deed]
    return act(session, target, message, work)
