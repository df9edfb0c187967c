"""What is in the sandbox, for people."""

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from anyshot_platform.judging.workers.inventories import offered_inventories
from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(include_in_schema=False)


@router.get("/sandbox", dependencies=[Depends(public)])
def show_sandbox(request: Request, session: SessionDep) -> Response:
    """The packages in each sandbox image."""
    return render(request, "sandbox.html", section="docs", images=offered_inventories(session))
