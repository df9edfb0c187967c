"""Accounts over JSON: sign-up, tokens, profile."""

from datetime import UTC
from typing import Annotated

from fastapi import APIRouter, Depends, Request

from anyshot_core.zones import find_zone
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Invalid, NotFound, NotSignedIn
from anyshot_platform.people.accounts import second_factor, service
from anyshot_platform.people.accounts.confirming import ask_to_confirm, may_mail
from anyshot_platform.people.accounts.limiting import limit_log_ins, limit_sign_ups
from anyshot_platform.people.accounts.schemas import (
    LogIn,
    ProfileIn,
    SignUp,
    TokenIn,
    TokenMade,
    TokenOut,
    UserOut,
)
from anyshot_platform.people.accounts.security_log import note_event
from anyshot_platform.people.notifications.letters import move_digest
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Scope, Viewer
from anyshot_platform.site.users.logging_in import note_failure
from anyshot_platform.site.users.own_data import OwnData, read_own_data
from anyshot_platform.site.web.access import browser_session, proved, public, signed_in_as
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/api/v1", tags=["accounts"])
AccountViewer = Annotated[Viewer, Depends(signed_in_as(Scope.ACCOUNT))]


@router.post("/users", status_code=201, dependencies=[Depends(public)])
def sign_up(request: Request, body: SignUp, session: SessionDep, services: ServicesDep) -> UserOut:
    """Create an account."""
    limit_sign_ups(request, services)
    welcome = may_mail(services, body.email)
    user = service.create_user(
        session,
        username=body.username,
        email=body.email,
        password=body.password,
        display_name=body.display_name,
        confirmed=not services.settings.asks_to_confirm,
    )
    if welcome:
        ask_to_confirm(services, session, user)
    return UserOut.model_validate(user)


@router.post("/tokens/log-in", status_code=201, dependencies=[Depends(public)])
def log_in_for_token(request: Request, body: LogIn, services: ServicesDep) -> TokenMade:
    """Exchange user name and password for an API token that reads and submits, or organizes too: `anyshot login`.

    Accounts with a second factor are answered 401 `code_needed`: send a code along.
    """
    limit_log_ins(request, services, body.username)
    scopes = [Scope.READ, Scope.SUBMIT, Scope.ACCOUNT, *([Scope.ORGANIZE] if body.organize else [])]
    try:
        known = service.authenticate(services.database, body.username, body.password)
        with services.database.writing() as session:
            user = service.as_then(session, known)
            if user.second_factor_since is not None:
                second_factor.require_code(session, services.signer, user, body.code)
            made = service.create_token(
                session, user.id, name=body.token_name, scopes=scopes, proved_at=now()
            )
            note_event(session, user.id, "account.log_in", "token")
    except NotSignedIn as error:
        note_failure(services, body.username, error)
        raise
    return TokenMade.model_validate(
        {**TokenOut.model_validate(made.token).model_dump(), "secret": made.secret}
    )


@router.get("/me")
def show_me(viewer: AccountViewer, session: SessionDep) -> UserOut:
    """The viewer's account."""
    return UserOut.model_validate(_own_user(session, viewer))


@router.patch("/me")
def change_me(body: ProfileIn, viewer: AccountViewer, session: SessionDep, services: ServicesDep) -> UserOut:
    """Change one's own profile."""
    user = _own_user(session, viewer)
    for name, value in body.model_dump(exclude_none=True).items():
        if name == "time_zone":
            check_time_zone(value)
        setattr(user, name, value)
    move_digest(session, user)
    return UserOut.model_validate(user)


@router.get("/me/data")
def show_my_data(viewer: AccountViewer, session: SessionDep) -> OwnData:
    """All that the site holds about the viewer's account, without secrets and hidden scores."""
    return read_own_data(session, viewer)


@router.get("/tokens")
def list_tokens(viewer: AccountViewer, session: SessionDep) -> list[TokenOut]:
    """One's own tokens."""
    return [TokenOut.model_validate(token) for token in service.list_tokens(session, viewer.id)]


@router.post("/tokens", status_code=201)
def create_token(
    body: TokenIn, viewer: Annotated[Viewer, Depends(proved(browser_session))], session: SessionDep
) -> TokenMade:
    """Create a token; only a browser may, so that a token cannot give itself more scopes or a longer life."""
    expires = body.expires_at
    if expires is not None and expires.tzinfo is None:
        expires = expires.replace(tzinfo=UTC)
    made = service.create_token(
        session,
        viewer.id,
        name=body.name,
        scopes=body.scopes,
        expires_at=expires,
        proved_at=viewer.proved_at,
    )
    return TokenMade.model_validate(
        {**TokenOut.model_validate(made.token).model_dump(), "secret": made.secret}
    )


@router.delete("/tokens/{token_id}", status_code=204)
def revoke_token(token_id: str, viewer: AccountViewer, session: SessionDep) -> None:
    """Revoke a token."""
    service.revoke_token(session, viewer.id, token_id)


def check_time_zone(name: str) -> None:
    """Raise `Invalid` unless the IANA database knows the zone."""
    if find_zone(name) is None:
        raise Invalid(f"There is no time zone “{name}”.", field="time_zone")


def _own_user(session: SessionDep, viewer: Viewer) -> User:
    user = session.get(User, viewer.id)
    if user is None:
        raise NotFound("There is no such account.")
    return user
