"""The page of a person."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import Response

from anyshot_platform.site.users.profiles import read_profile
from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import SessionDep
from anyshot_platform.site.web.viewer import ViewerDep

router = APIRouter(include_in_schema=False)


@router.get("/users/{username}", dependencies=[Depends(public)])
def show_profile(
    request: Request, viewer: ViewerDep, session: SessionDep, username: Annotated[str, Path(max_length=64)]
) -> Response:
    """What somebody lets others see."""
    return render(request, "users/profile.html", profile=read_profile(session, viewer, username))
