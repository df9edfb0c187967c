"""Finds out who asks: by a browser's session cookie or an API token."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from sqlalchemy import Select, select, update

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.foundation.database import Database, now
from anyshot_platform.foundation.errors import Forbidden, NotSignedIn
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.signing import digest_secret
from anyshot_platform.judging.visibility.access import find_access
from anyshot_platform.people.users.models import ApiToken, LoginSession, User
from anyshot_platform.people.users.viewer import NOBODY, TOKEN_PREFIX, Cohort, Look, Scope, Viewer, stand_in
from anyshot_platform.site.web.services import SAFE_METHODS, ServicesDep

SESSION_COOKIE = "anyshot_session"
LOOK_COOKIE = "anyshot_look"
LOOKS = ("participant", "visitor")
_ENDS_IT = ("/manage/look/end", "/logout")
_TOKEN_USE_RECORDED_EVERY = 300.0  # seconds


def get_viewer(request: Request, services: ServicesDep) -> Viewer:
    """Find out who asks, in a short look of its own: uploads must not hold a transaction while bytes arrive."""
    viewer = request.state.viewer = find_viewer(request, services)
    request.state.prove_minutes = services.settings.prove_minutes
    return viewer


def find_viewer(request: Request, services: Services) -> Viewer:
    """Who a request's token or cookie belongs to; raises `NotSignedIn` for a token that is not valid."""
    cohort: Cohort | None = getattr(request.state, "cohort", None)
    if cohort is not None:
        return stand_in(cohort)
    viewer = _find(request, services)
    wanted = request.cookies.get(LOOK_COOKIE, "") if viewer.session_id is not None else ""
    return _as_somebody_else(viewer, wanted, services) if wanted else viewer


def _as_somebody_else(viewer: Viewer, wanted: str, services: Services) -> Viewer:
    """With fewer rights, for those who may read the competition of the cookie as its organizers do."""
    role, _, slug = wanted.partition(":")
    with services.database.glancing() as session:
        competition = session.scalars(select(Competition).where(Competition.slug == slug[:64])).one_or_none()
        if role not in LOOKS or competition is None:
            return viewer
        if not find_access(session, viewer, competition).may(Role.REVIEWER):
            return viewer
        look = Look(competition.id, competition.slug, competition.title, role)
    if role == "visitor":
        return replace(NOBODY, look=look)
    kept = viewer.scopes - {Scope.ORGANIZE}
    return replace(viewer, look=look, scopes=kept, is_site_admin=False, may_organize=False)


async def refuse_writing_while_looking(request: Request, services: ServicesDep) -> None:
    """Nothing is written by an organizer who looks as somebody else; a dependency of the whole application."""
    unsafe = request.method not in SAFE_METHODS and not request.url.path.endswith(_ENDS_IT)
    if unsafe and LOOK_COOKIE in request.cookies and "authorization" not in request.headers:
        viewer = await run_in_threadpool(find_viewer, request, services)
        if viewer.look is not None:
            raise Forbidden(
                f"You are looking at the site as a {viewer.look.role}: nothing can be changed "
                "meanwhile. End it in the bar above."
            )


def _without_rights(viewer: Viewer, demanded_of: str) -> Viewer:
    """Without the second factor that the site demands, organizers are participants, or everyone may do nothing."""
    if demanded_of == "optional" or viewer.has_second_factor or not viewer.is_signed_in:
        return viewer
    kept = viewer.scopes - {Scope.ORGANIZE} if demanded_of == "organizers" else frozenset[Scope]()
    return replace(viewer, scopes=kept, is_site_admin=False, lacks_second_factor=True)


def _find(request: Request, services: Services) -> Viewer:
    header = request.headers.get("authorization")
    if header is not None:
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer" or not token.startswith(TOKEN_PREFIX):
            raise NotSignedIn("The Authorization header holds no API token of this site.")
        return _without_rights(_viewer_of_token(services.database, token), services.settings.second_factor)
    cookie = request.cookies.get(SESSION_COOKIE)
    if not cookie:
        return NOBODY
    with services.database.glancing() as session:
        row = session.execute(select_sessions(cookie)).first()
    if row is None:
        return NOBODY
    login, user = row
    return viewer_in(login, user, services)


def select_sessions(*cookies: str) -> Select[LoginSession, User]:
    """A query for the valid sessions of cookies, and whose they are."""
    return (
        select(LoginSession, User)
        .join(User, User.id == LoginSession.user_id)
        .where(
            LoginSession.digest.in_([digest_secret(cookie) for cookie in cookies]),
            LoginSession.revoked_at.is_(None),
            LoginSession.expires_at > now(),
            User.deleted_at.is_(None),
            User.blocked_at.is_(None),
        )
    )


def viewer_in(login: LoginSession, user: User, services: Services) -> Viewer:
    """The user of a session, as far as the site's demands let them."""
    viewer = _viewer_of(user, session_id=login.id, proved_at=login.proved_at)
    return _without_rights(viewer, services.settings.second_factor)


def _viewer_of_token(database: Database, token: str) -> Viewer:
    moment = now()
    with database.glancing() as session:
        row = session.execute(
            select(ApiToken, User)
            .join(User, User.id == ApiToken.user_id)
            .where(
                ApiToken.digest == digest_secret(token),
                ApiToken.revoked_at.is_(None),
                (ApiToken.expires_at.is_(None)) | (ApiToken.expires_at > moment),
                User.deleted_at.is_(None),
                User.blocked_at.is_(None),
            )
        ).first()
    if row is None:
        raise NotSignedIn("The API token is unknown, has expired or was revoked.")
    api_token, user = row
    used = api_token.last_used_at
    if used is None or (moment - used).total_seconds() > _TOKEN_USE_RECORDED_EVERY:
        with database.writing() as session:
            session.execute(update(ApiToken).where(ApiToken.id == api_token.id).values(last_used_at=moment))
    known = {scope.value for scope in Scope}
    scopes = frozenset(Scope(word) for word in api_token.scopes if word in known)
    return _viewer_of(user, token_id=api_token.id, scopes=scopes, proved_at=api_token.proved_at)


def _viewer_of(
    user: User,
    *,
    session_id: str | None = None,
    token_id: str | None = None,
    scopes: frozenset[Scope] = frozenset(Scope),
    proved_at: datetime | None,
) -> Viewer:
    return Viewer(
        user_id=user.id,
        username=user.username,
        display_name=user.display_name or user.username,
        email=user.email or "",
        time_zone=user.time_zone,
        is_site_admin=user.is_site_admin and Scope.ORGANIZE in scopes,
        may_organize=user.may_organize,
        session_id=session_id,
        token_id=token_id,
        scopes=scopes,
        has_second_factor=user.second_factor_since is not None,
        proved_at=proved_at,
    )


ViewerDep = Annotated[Viewer, Depends(get_viewer)]
