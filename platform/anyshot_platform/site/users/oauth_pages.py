"""The two addresses of a log-in by another site."""

import hmac
import json
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import RedirectResponse, Response

from anyshot_platform.foundation.services import Services
from anyshot_platform.people.accounts import oauth
from anyshot_platform.people.accounts.proving import NeedsProof
from anyshot_platform.people.accounts.security_log import note_event
from anyshot_platform.people.accounts.service import NewSession
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.site.users.logging_in import ask_for_code, begin_session, set_session_cookie
from anyshot_platform.site.users.pages import safe_next
from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.rendering import redirect
from anyshot_platform.site.web.services import ServicesDep
from anyshot_platform.site.web.viewer import ViewerDep

router = APIRouter(prefix="/oauth", include_in_schema=False, dependencies=[Depends(public)])
COOKIE = "anyshot_oauth"
_MINUTES = 10
_LONGEST = 2000


@router.get("/{provider}/start")
def start(
    services: ServicesDep, provider: str, next: Annotated[str, Query(max_length=500)] = "/"
) -> Response:
    """Send the browser to the provider; what it must bring back goes into a signed cookie."""
    begun = oauth.begin(services.settings, provider)
    text = json.dumps([provider, begun.state, begun.verifier, safe_next(next)])
    response = RedirectResponse(begun.url, status_code=303)
    response.set_cookie(
        COOKIE,
        f"{services.signer.sign('oauth', text)}.{text.encode().hex()}",
        max_age=_MINUTES * 60,
        httponly=True,
        samesite="lax",
        secure=services.settings.cookies_over_https_only,
        path="/oauth",
    )
    return response


@router.get("/{provider}/callback")
def come_back(
    request: Request,
    services: ServicesDep,
    viewer: ViewerDep,
    provider: str,
    code: Annotated[str, Query(max_length=2000)] = "",
    state: Annotated[str, Query(max_length=500)] = "",
) -> Response:
    """Sign in whom the provider names, or make an account."""
    verifier, target = _read_cookie(request, services, provider, state)
    if not code:
        return redirect("/login", flash="The log-in was not confirmed.", tone="warn")
    person = oauth.who_is(services.settings, provider, code=code, verifier=verifier)
    try:
        user, new = _sign_in(request, services, viewer, provider, person)
    except NeedsProof:  # the code that came back is used up: the page of log-ins begins anew
        return redirect("/account/prove?next=/account/security")
    if new is None:
        response = ask_for_code(services, redirect(f"/login/code?next={quote(target)}"), user)
    else:
        response = redirect(target)
        set_session_cookie(services, response, new)
    response.delete_cookie(COOKIE, path="/oauth")
    return response


def _sign_in(
    request: Request, services: Services, viewer: Viewer, provider: str, person: oauth.OAuthPerson
) -> tuple[User, NewSession | None]:
    """The person's account and a new session, none where a code is asked first; raises `NeedsProof`."""
    with services.database.writing() as session:
        user = oauth.find_or_make_user(session, services.settings, provider, person, viewer)
        if user.second_factor_since is not None:
            return user, None
        note_event(session, user.id, "account.log_in", provider)
        return user, begin_session(request, services, session, user)


def _read_cookie(request: Request, services: ServicesDep, provider: str, state: str) -> tuple[str, str]:
    """The verifier and where to go on; raises `LogInFailed` unless this browser began this log-in."""
    signature, _, encoded = request.cookies.get(COOKIE, "").partition(".")
    if not encoded or len(encoded) > _LONGEST:
        raise oauth.LogInFailed("This log-in was not started in this browser, or too long ago.")
    try:
        text = bytes.fromhex(encoded).decode()
    except ValueError as error:
        raise oauth.LogInFailed("This log-in was not started in this browser.") from error
    if not services.signer.verify("oauth", text, signature):
        raise oauth.LogInFailed("This log-in was not started in this browser.")
    begun_at, wanted, verifier, target = json.loads(text)
    if begun_at != provider or not hmac.compare_digest(str(wanted).encode(), state.encode()):
        raise oauth.LogInFailed("This log-in was not started in this browser.")
    return str(verifier), safe_next(str(target))
