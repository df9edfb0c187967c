"""The page on which an administrator lets a machine in that shows its code."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi import Path as PathParam
from starlette.responses import Response

from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.judging.workers.requests import find_request
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.running.operations import worker_acts
from anyshot_platform.site.shell.act_frame import perform_named
from anyshot_platform.site.web.access import site_admin
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/admin/worker-requests", include_in_schema=False)
Admin = Annotated[Viewer, Depends(site_admin)]


@router.get("")
def show_request(request: Request, viewer: Admin, session: SessionDep, code: str = "") -> Response:
    """The machine that shows this code, and what its token would be for."""
    try:
        asking = find_request(session, code)
    except NotFound as error:
        return redirect("/admin/workers", flash=error.message, tone="bad")
    return render(request, "admin/worker_request.html", section="admin", current="workers", asking=asking)


@router.post("/{code}/{act}")
def act_on_request(
    request: Request,
    viewer: Admin,
    session: SessionDep,
    code: Annotated[str, PathParam(max_length=20)],
    act: str,
    form: FormDep,
) -> Response:
    """Let the machine in."""
    asking = find_request(session, code)
    return perform_named(
        request, session, form, worker_acts.OF_REQUESTS, act, asking, viewer, "/admin/workers"
    )
