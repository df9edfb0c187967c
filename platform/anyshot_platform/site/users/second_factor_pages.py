"""The second factor in the browser: asked at log-in, set up and turned off on the account's page."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.people.accounts import second_factor
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.site.users.account_pages import SECTIONS
from anyshot_platform.site.users.logging_in import (
    CODE_COOKIE,
    finish_log_in,
    half_logged_in,
    use_code_at_log_in,
)
from anyshot_platform.site.users.pages import safe_next
from anyshot_platform.site.web.access import browser_session, proved, public
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(include_in_schema=False)
InBrowser = Annotated[Viewer, Depends(browser_session)]
Proved = Annotated[Viewer, Depends(proved(browser_session))]
HERE = "/account/second-factor"


@router.get("/login/code", dependencies=[Depends(public)])
def show_code(request: Request, next: str = "/") -> Response:
    """The form for the code, after the password."""
    return render(request, "users/login_code.html", next=safe_next(next), problem="")


@router.post("/login/code", dependencies=[Depends(public)])
def send_code(request: Request, services: ServicesDep, form: FormDep) -> Response:
    """Sign in with the code."""
    target = safe_next(form.text("next", 2000))
    user_id = half_logged_in(request, services)
    if user_id is None:
        return redirect("/login", flash="That took too long. Please log in again.", tone="warn")
    try:
        new = use_code_at_log_in(request, services, user_id, form.text("code", 64))
    except PlatformError as error:
        return render(
            request, "users/login_code.html", status_code=error.status, next=target, problem=error.message
        )
    response = finish_log_in(services, redirect(target), new)
    response.delete_cookie(CODE_COOKIE, path="/login")
    return response


@router.get(HERE)
def show_second_factor(
    request: Request, viewer: InBrowser, session: SessionDep, services: ServicesDep
) -> Response:
    """Whether it is on; the QR code to set it up."""
    user = session.get_one(User, viewer.id)
    return _page(request, services, user)


def _page(
    request: Request,
    services: ServicesDep,
    user: User,
    problem: PlatformError | None = None,
    **more: Any,
) -> Response:
    on = user.second_factor_since is not None
    signer, name = services.signer, services.settings.site_name
    return render(
        request,
        "users/account_second_factor.html",
        status_code=problem.status if problem else 200,
        sections=SECTIONS,
        current="security",
        errors={"code": problem.message} if problem else {},
        user=user,
        enrolment=None if on else second_factor.begin_enrolment(signer, name, user.username),
        **{"codes": [], **more},
    )


@router.post(HERE)
def turn_on(
    request: Request, viewer: Proved, session: SessionDep, services: ServicesDep, form: FormDep
) -> Response:
    """Turn it on with the first code of the app, and show the recovery codes."""
    user = session.get_one(User, viewer.id)
    try:
        codes = second_factor.turn_on(
            session, services.signer, user, form.text("sealed", 400), form.text("code", 20)
        )
    except PlatformError as error:
        return _page(request, services, user, error)
    return _page(request, services, user, codes=codes)


@router.post(f"{HERE}/codes")
def renew_codes(request: Request, viewer: Proved, session: SessionDep, services: ServicesDep) -> Response:
    """Create fresh recovery codes and show them."""
    user = session.get_one(User, viewer.id)
    codes = second_factor.renew_recovery_codes(session, user) if user.second_factor_since else []
    return _page(request, services, user, codes=codes)


@router.post(f"{HERE}/off")
def turn_off(viewer: Proved, session: SessionDep) -> Response:
    """Turn the second factor off, after the password or a code."""
    second_factor.turn_off(session, session.get_one(User, viewer.id))
    return redirect("/account/security", flash="The second factor is off.")
