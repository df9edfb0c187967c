"""Sign-up, log-in and log-out in the browser."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.accounts import service
from anyshot_platform.accounts.confirming import ask_to_confirm, may_mail
from anyshot_platform.accounts.limiting import DEVICE_COOKIE, limit_log_ins, limit_sign_ups
from anyshot_platform.accounts.oauth import offered
from anyshot_platform.accounts.security_log import note_event
from anyshot_platform.accounts.service import NewSession
from anyshot_platform.errors import PlatformError
from anyshot_platform.services import Services
from anyshot_platform.users.models import User
from anyshot_platform.users.viewer import Viewer
from anyshot_platform.web.access import browser_session, public
from anyshot_platform.web.rendering import redirect, render
from anyshot_platform.web.services import ServicesDep
from anyshot_platform.web.viewer import SESSION_COOKIE

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Form(max_length=320)]


def safe_next(target: str) -> str:
    """A path of this site to go on to; anything else becomes the front page."""
    local = target.startswith("/") and not target.startswith(("//", "/\\")) and "\\" not in target
    return target if local and target.isprintable() else "/"


def set_session_cookie(response: Response, new: NewSession, services: Services) -> None:
    """Give the browser the cookie of its session."""
    response.set_cookie(
        SESSION_COOKIE,
        new.secret,
        max_age=services.settings.session_days * 86_400,
        httponly=True,
        samesite="lax",
        secure=services.settings.cookies_over_https_only,
        path="/",
    )


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
        with services.database.writing() as session:
            user = service.authenticate(session, username, password)
            new = _begin(request, services, session, user)
            note_event(session, user.id, "account.log_in")
    except PlatformError as error:
        return render(
            request,
            "login.html",
            status_code=error.status,
            providers=offered(services.settings),
            next=safe_next(next),
            name=username,
            problem=error.message,
        )
    response = redirect(safe_next(next))
    set_session_cookie(response, new, services)
    response.set_cookie(
        DEVICE_COOKIE,
        services.signer.sign("device", user.id),
        max_age=365 * 86_400,
        httponly=True,
        samesite="lax",
        secure=services.settings.cookies_over_https_only,
        path="/login",
    )
    return response


@router.get("/sign-up", dependencies=[Depends(public)])
def show_sign_up(request: Request, next: str = "/") -> Response:
    """The sign-up form."""
    return render(request, "sign_up.html", next=safe_next(next), name="", email="", problem="")


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
            new = _begin(request, services, session, user)
    except PlatformError as error:
        return render(
            request,
            "sign_up.html",
            status_code=error.status,
            next=safe_next(next),
            name=username,
            email=email,
            problem=error.message,
        )
    response = redirect(safe_next(next))
    set_session_cookie(response, new, services)
    return response


@router.post("/logout")
def log_out(viewer: Annotated[Viewer, Depends(browser_session)], services: ServicesDep) -> Response:
    """Sign this browser out."""
    with services.database.writing() as session:
        service.end_session(session, viewer.id, viewer.session_id or "")
    response = redirect("/")
    response.delete_cookie(SESSION_COOKIE, path="/")
    return response


def _begin(request: Request, services: Services, session: Session, user: User) -> NewSession:
    agent = request.headers.get("user-agent", "")
    return service.begin_session(session, user, user_agent=agent, days=services.settings.session_days)
