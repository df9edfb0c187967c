"""The page that shows every component of the design system."""

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from anyshot_platform.foundation.database import now
from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.rendering import render

router = APIRouter(include_in_schema=False)


@router.get("/design", dependencies=[Depends(public)])
def show_design(request: Request) -> Response:
    """All components, for developers."""
    problem = {"email": "This is not a complete address: the part after @ is missing."}
    return render(request, "design.html", now=now(), errors=problem)
