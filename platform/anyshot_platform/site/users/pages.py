"""Sign-up, log-in and log-out in the browser."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, Request
from starlette.responses import Response

from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.people.accounts import service
from anyshot_platform.people.accounts.confirming import ask_to_confirm, may_mail
from anyshot_platform.people.accounts.limiting import limit_log_ins, limit_sign_ups
from anyshot_platform.people.accounts.oauth import offered
from anyshot_platform.people.accounts.passwords import WeakPassword
from anyshot_platform.people.accounts.security_log import note_event
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.site.users.logging_in import (
    ask_for_code,
    begin_session,
    finish_log_in,
    note_failure,
    set_session_cookie,
)
from anyshot_platform.site.web.access import browser_session, public
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import ServicesDep
from anyshot_platform.site.web.viewer import SESSION_COOKIE

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Form(max_length=320)]


def safe_next(target: str) -> str:
    """A path of this site to go on to; anything else becomes the front page."""
    local = target.startswith("/") and not target.startswith(("//", "/\\")) and "\\" not in target
    return target if local and target.isprintable() else "/"


@router.get("/login", dependencies=[Depends(public)])
def show_login(request: Request, services: ServicesDep, next: str = "/") -> Response:
    """The log-in form."""
    providers = offered(services.settings)
    return render(request, "login.html", next=safe_next(next), name="", problem="", providers=providers)


@router.post("/login", dependencies=[Depends(public)])
def log_in(
    request: Request, services: ServicesDep, username: Text, password: Text, next: Text = "/"
) -> Response:
    """Sign in, or show the form again with what was wrong."""
    try:
        limit_log_ins(request, services, username)
        user = service.authenticate(services.database, username, password)
        with services.database.writing() as session:
            user, new = service.as_then(session, user), None
            if user.second_factor_since is None:
                new = begin_session(request, services, session, user)
                note_event(session, user.id, "account.log_in")
    except PlatformError as error:
        note_failure(services, username, error)
        return render(
            request,
            "login.html",
            status_code=error.status,
            providers=offered(services.settings),
            next=safe_next(next),
            name=username,
            problem=error.message,
        )
    if new is None:
        return ask_for_code(services, redirect(f"/login/code?next={quote(safe_next(next))}"), user)
    return finish_log_in(services, redirect(safe_next(next)), new)


@router.get("/sign-up", dependencies=[Depends(public)])
def show_sign_up(request: Request, next: str = "/") -> Response:
    """The sign-up form."""
    return render(request, "sign_up.html", next=safe_next(next), name="", email="")


@router.post("/sign-up", dependencies=[Depends(public)])
def sign_up(
    request: Request, services: ServicesDep, username: Text, email: Text, password: Text, next: Text = "/"
) -> Response:
    """Create an account and sign in."""
    try:
        limit_sign_ups(request, services)
        welcome = may_mail(services, email)
        with services.database.writing() as session:
            confirmed = not services.settings.asks_to_confirm
            user = service.create_user(
                session, username=username, email=email, password=password, confirmed=confirmed
            )
            if welcome:
                ask_to_confirm(services, session, user)
            new = begin_session(request, services, session, user)
    except PlatformError as error:
        return render(
            request,
            "sign_up.html",
            status_code=error.status,
            next=safe_next(next),
            name=username,
            email=email,
            errors={_field_of(error): error.message},
        )
    response = redirect(safe_next(next))
    set_session_cookie(services, response, new)
    return response


def _field_of(error: PlatformError) -> str:
    """The field of the form that was refused; none where all of it was."""
    return "password" if isinstance(error, WeakPassword) else str(error.details.get("field", ""))


@router.post("/logout")
def log_out(viewer: Annotated[Viewer, Depends(browser_session)], services: ServicesDep) -> Response:
    """Sign this browser out."""
    with services.database.writing() as session:
        service.end_session(session, viewer.id, viewer.session_id or "")
    response = redirect("/")
    response.delete_cookie(SESSION_COOKIE, path="/")
    return response
