"""The organizers' page of rehearsals, with the checklist before a publication."""

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from anyshot_platform.actions.declaration import ActRequest
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.running.rehearsals.acts import (
    MOST_TASKS,
    MOST_TEAMS,
    REHEARSE,
    Rehearsable,
    is_copy,
    list_rehearsals,
)
from anyshot_platform.running.rehearsals.checklist import checklist
from anyshot_platform.running.rehearsals.diary import story_of
from anyshot_platform.running.rehearsals.forecast import forecast
from anyshot_platform.site.shell.act_frame import perform, read_options
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer, manage_path, render_manage
from anyshot_platform.site.web.access import may_organize
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/competitions/{slug}/manage/rehearsals", include_in_schema=False)


@router.get("")
def show_rehearsals(
    request: Request, access: AsReviewer, session: SessionDep, services: ServicesDep
) -> Response:
    """The checklist, the form that starts a rehearsal, what came of earlier ones."""
    return render_manage(
        request,
        session,
        access,
        "rehearsals.html",
        "rehearsals",
        heading="Rehearsal",
        checks=checklist(session, services.settings, access.competition),
        copy_of_another=is_copy(session, access.competition),
        rehearsals=[
            (row, session.get_one(Competition, row.copy_id), story_of(row), forecast(session, row))
            for row in list_rehearsals(session, access.competition)
        ],
        most=(MOST_TASKS, MOST_TEAMS),
    )


@router.post("", dependencies=[Depends(may_organize)])
def rehearse(
    request: Request, access: AsOrganizer, session: SessionDep, services: ServicesDep, form: FormDep
) -> Response:
    """Start a rehearsal."""
    subject = Rehearsable(access.competition, services)
    asked = ActRequest(access.viewer.id, form.text("reason"), read_options(REHEARSE, form), access.viewer)
    return perform(request, session, form, REHEARSE, subject, asked, manage_path(access, "/rehearsals"))
