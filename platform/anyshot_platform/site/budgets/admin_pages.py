"""The table of budgets for operators: limits of this site, and whether anybody met them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from anyshot_platform.people.rate_limits.service import count_refused
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.site.web.access import site_admin
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(include_in_schema=False)


@router.get("/admin/budgets")
def show_budgets(
    request: Request,
    viewer: Annotated[Viewer, Depends(site_admin)],
    session: SessionDep,
    services: ServicesDep,
) -> Response:
    """All limits, with the number of actors who were refused in the last day."""
    refused = count_refused(session, services.settings.budgets)
    rows = [(name, budget, refused.get(name)) for name, budget in services.settings.budgets.items()]
    return render(request, "admin/budgets.html", section="admin", current="budgets", rows=rows)
