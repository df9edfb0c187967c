"""The way from a name and a password to a session or a token, with a code between where the account has one."""

import time
from typing import TypeVar

from fastapi import Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.foundation.errors import NotSignedIn, PlatformError
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.signing import digest_secret
from anyshot_platform.people.accounts import second_factor, service
from anyshot_platform.people.accounts.limiting import DEVICE_COOKIE
from anyshot_platform.people.accounts.security_log import note_event
from anyshot_platform.people.accounts.service import NewSession
from anyshot_platform.people.rate_limits.service import spend
from anyshot_platform.people.users.models import User
from anyshot_platform.site.web.viewer import SESSION_COOKIE

CODE_COOKIE = "anyshot_code"
_CODE_SECONDS = 600  # between password and code
ResponseT = TypeVar("ResponseT", bound=Response)


def note_failure(services: Services, name: str, error: PlatformError) -> None:
    """Note a log-in that failed, in a transaction of its own. A name that nobody has is noted without the name: it may
    be a password, and the time to answer must not tell whether there is an account.
    """
    if not isinstance(error, NotSignedIn) or isinstance(error, second_factor.SecondFactorNeeded):
        return  # beyond a limit, which is counted elsewhere, or half of a log-in
    with services.database.writing() as session:
        user = service.find_user(session, name)
        note_event(session, user.id if user else None, "account.log_in_failed", error.code)


def ask_for_code(services: Services, response: ResponseT, user: User) -> ResponseT:
    """Let the browser remember for ten minutes whose password was right."""
    until = str(int(time.time()) + _CODE_SECONDS)
    text = f"{user.id}.{until}"
    value = f"{text}.{services.signer.sign('code', _bound(text, user))}"
    _set_cookie(services, response, CODE_COOKIE, value, _CODE_SECONDS, path="/login")
    return response


def half_logged_in(request: Request, services: Services) -> str | None:
    """Whose password this browser has said, if it was just now and the password has not changed since."""
    text, _, signature = request.cookies.get(CODE_COOKIE, "").rpartition(".")
    user_id, _, until = text.partition(".")
    if not until.isdecimal() or len(until) > 12 or int(until) < time.time():
        return None
    with services.database.reading() as session:
        user = session.get(User, user_id)
    if user is None or user.deleted_at is not None or user.blocked_at is not None:
        return None
    return user_id if services.signer.verify("code", _bound(text, user), signature) else None


def _bound(text: str, user: User) -> str:
    return f"{text}.{digest_secret(user.password_hash or '')}"


def use_code_at_log_in(request: Request, services: Services, user_id: str, code: str) -> NewSession:
    """Sign in with a code; raises `WrongCode` or `TooMany`."""
    spend(services, "proofs", user_id)
    try:
        with services.database.writing() as session:
            user = session.get_one(User, user_id)
            if user.second_factor_since is not None:
                second_factor.use_code(session, services.signer, user, code)
            new = begin_session(request, services, session, user)
            note_event(session, user.id, "account.log_in", "code")
    except NotSignedIn:
        with services.database.writing() as session:
            note_event(session, user_id, "account.log_in_failed", "code")
        raise
    return new


def begin_session(request: Request, services: Services, session: Session, user: User) -> NewSession:
    """A session of this browser."""
    agent = request.headers.get("user-agent", "")
    return service.begin_session(session, user, user_agent=agent, days=services.settings.session_days)


def finish_log_in(services: Services, response: ResponseT, new: NewSession) -> ResponseT:
    """Give the browser the cookie of its session, and the mark that the account was logged in here."""
    set_session_cookie(services, response, new)
    device = services.signer.sign("device", new.session.user_id)
    _set_cookie(services, response, DEVICE_COOKIE, device, 365 * 86_400, path="/login")
    return response


def set_session_cookie(services: Services, response: Response, new: NewSession) -> None:
    """Give the browser the cookie of its session."""
    seconds = services.settings.session_days * 86_400
    _set_cookie(services, response, SESSION_COOKIE, new.secret, seconds, path="/")


def _set_cookie(
    services: Services, response: Response, name: str, value: str, seconds: int, *, path: str
) -> None:
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        httponly=True,
        samesite="lax",
        secure=services.settings.cookies_over_https_only,
        path=path,
    )
