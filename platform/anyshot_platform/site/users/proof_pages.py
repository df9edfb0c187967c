"""Where a browser is asked again for password or code, before something dangerous."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from anyshot_platform.accounts.oauth import offered
from anyshot_platform.accounts.proving import prove
from anyshot_platform.errors import PlatformError
from anyshot_platform.site.users.pages import safe_next
from anyshot_platform.users.models import User
from anyshot_platform.users.viewer import Viewer
from anyshot_platform.web.access import browser_session
from anyshot_platform.web.forms import FormDep
from anyshot_platform.web.rendering import redirect, render
from anyshot_platform.web.services import ServicesDep

router = APIRouter(prefix="/account/prove", include_in_schema=False)
InBrowser = Annotated[Viewer, Depends(browser_session)]


@router.get("")
def show_prove(request: Request, viewer: InBrowser, services: ServicesDep, next: str = "/") -> Response:
    """The form for password or code."""
    return _page(request, viewer, services, safe_next(next), "", 200)


@router.post("")
def send_proof(request: Request, viewer: InBrowser, services: ServicesDep, form: FormDep) -> Response:
    """Take the proof and go back to where it was asked for."""
    target = safe_next(form.text("next", 2000))
    try:
        prove(services, viewer, form.text("proof", 320))
    except PlatformError as error:
        return _page(request, viewer, services, target, error.message, error.status)
    return redirect(target, flash="Thank you. Now do it once more.")


def _page(
    request: Request, viewer: Viewer, services: ServicesDep, target: str, problem: str, status: int
) -> Response:
    with services.database.reading() as session:
        user = session.get_one(User, viewer.id)
    return render(
        request,
        "users/prove.html",
        status_code=status,
        next=target,
        problem=problem,
        by_code=user.second_factor_since is not None,
        has_password=user.password_hash is not None,
        providers=offered(services.settings),
    )
