"""The page of one's team's fact sheet."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from anyshot_platform.actions.concurrency import Stale, tag_of
from anyshot_platform.contest.competitions.service import require_participant
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.people.teams.models import Team
from anyshot_platform.site.fact_sheets.api import sheet_fields, show_sheet, write_sheet
from anyshot_platform.site.shell.act_frame import ask_which
from anyshot_platform.site.shell.page_header import read_header
from anyshot_platform.site.web.access import competition_role
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import SessionDep
from anyshot_platform.standings.fact_sheets import service

router = APIRouter(prefix="/competitions/{slug}/fact-sheet", include_in_schema=False)
Participant = Annotated[CompetitionAccess, Depends(competition_role(Role.PARTICIPANT))]


@router.get("")
def show(request: Request, access: Participant, session: SessionDep) -> Response:
    """The form, as it was saved."""
    return _show(request, access, session)


def _show(
    request: Request,
    access: CompetitionAccess,
    session: SessionDep,
    problem: PlatformError | None = None,
    seen: str = "",
    **refused: Any,
) -> Response:
    team = session.get_one(Team, require_participant(access.membership).team_id)
    known = service.sheet_of(session, access.competition, team)
    return render(
        request,
        "competitions/fact_sheet.html",
        status_code=problem.status if problem else 200,
        section="competitions",
        head=read_header(session, access),
        tab="team",
        sheet=show_sheet(access.competition, known),
        seen=seen or tag_of(sheet_fields(access.competition, known)),
        problem=problem.message if problem else "",
        **refused,
    )


@router.post("")
def save(request: Request, access: Participant, session: SessionDep, form: FormDep) -> Response:
    """Keep a draft, or hand it in."""
    keys = [str(one["key"]) for one in access.competition.fact_sheet]
    answers = {key: form.text(f"fact_{key}", 10_000) for key in keys}
    hand_in = form.text("act") == "hand_in"
    try:
        public, version = form.flag("public"), form.text("seen")
        write_sheet(session, access, answers, hand_in=hand_in, public=public, version=version)
    except Stale as error:
        session.rollback()
        return ask_which(request, form, error, f"/competitions/{access.competition.slug}/fact-sheet")
    except PlatformError as error:
        session.rollback()
        return _show(request, access, session, error, form.text("seen"), values=form.values())
    words = "The fact sheet is submitted." if hand_in else "The draft is saved; it is not submitted yet."
    return redirect(f"/competitions/{access.competition.slug}/fact-sheet", flash=words)
