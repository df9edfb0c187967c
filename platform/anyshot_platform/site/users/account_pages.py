"""One's own account: profile, password, sessions, API tokens, deletion."""

import re
from datetime import timedelta
from typing import Annotated, Any
from zoneinfo import available_timezones

from fastapi import APIRouter, Depends, Path, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.actions.concurrency import Stale, Written, changes_upon, tag_of
from anyshot_platform.contest.competitions.actions.invitations import answer_invitation, list_invitations
from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.service import must_accept, owned_alone
from anyshot_platform.contest.competitions.states import MemberStatus
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Invalid, PlatformError
from anyshot_platform.foundation.numbers import small_number
from anyshot_platform.foundation.schema.problems import in_words
from anyshot_platform.people.accounts import oauth, service
from anyshot_platform.people.accounts.actions.erasing import erase_user
from anyshot_platform.people.accounts.proving import NeedsProof, know_password
from anyshot_platform.people.accounts.schemas import ProfileIn
from anyshot_platform.people.notifications.letters import move_digest
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Scope, Viewer
from anyshot_platform.site.shell.act_frame import ask_which
from anyshot_platform.site.users.api import check_time_zone
from anyshot_platform.site.users.own_data import read_own_data
from anyshot_platform.site.web.access import browser_session, proved
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import ServicesDep, SessionDep
from anyshot_platform.site.web.viewer import SESSION_COOKIE

router = APIRouter(prefix="/account", include_in_schema=False)
InBrowser = Annotated[Viewer, Depends(browser_session)]
Proved = Annotated[Viewer, Depends(proved(browser_session))]
SECTIONS = (
    {"key": "profile", "label": "Profile", "href": "/account", "icon": "user"},
    {"key": "teams", "label": "Competitions and teams", "href": "/account/teams", "icon": "users"},
    {"key": "tokens", "label": "API tokens", "href": "/account/tokens", "icon": "key"},
    {"key": "notifications", "label": "Notifications", "href": "/account/notifications", "icon": "bell"},
    {"key": "security", "label": "Password and sessions", "href": "/account/security", "icon": "lock"},
    {"key": "delete", "label": "Delete account", "href": "/account/delete", "icon": "trash-2"},
)
SCOPE_WORDS = (
    (Scope.READ, "Read", "everything that you can see"),
    (Scope.SUBMIT, "Submit", "upload, cancel and withdraw submissions"),
    (Scope.ACCOUNT, "Account", "change profile, teams and memberships, write in discussions"),
    (Scope.ORGANIZE, "Organize", "act as organizer where you are one"),
)
_PROFILE_FIELDS = ("display_name", "affiliation", "country", "homepage", "about", "time_zone")


def account_page(
    request: Request, section: str, problem: PlatformError | None = None, **context: Any
) -> Response:
    """A page of the account, with its list of pages and what is wrong with what was sent."""
    errors = {str(problem.details.get("field", "")): problem.message} if problem else {}
    return render(
        request,
        f"users/account_{section}.html",
        status_code=problem.status if problem else 200,
        sections=SECTIONS,
        current=section,
        errors=errors,
        **context,
    )


@router.get("")
def show_profile(request: Request, viewer: InBrowser, session: SessionDep) -> Response:
    """What others see of one, and what only organizers see."""
    user = session.get_one(User, viewer.id)
    return _profile(request, user, tag_of(_profile_fields(user)))


def _profile(
    request: Request,
    user: User,
    seen: str,
    problem: PlatformError | None = None,
    **refused: Any,
) -> Response:
    zones = sorted(available_timezones())
    return account_page(request, "profile", problem, user=user, time_zones=zones, seen=seen, **refused)


def _profile_fields(user: User) -> dict[str, Any]:
    return {name: getattr(user, name) for name in (*_PROFILE_FIELDS, "profile_public")}


@router.post("")
def save_profile(
    request: Request, viewer: InBrowser, session: SessionDep, form: FormDep, services: ServicesDep
) -> Response:
    """Save the profile that the form holds."""
    user = session.get_one(User, viewer.id)
    sent = {name: form.text(name, 4000) for name in _PROFILE_FIELDS if name in form.data}
    try:
        check_time_zone(sent.get("time_zone", user.time_zone))
        profile = ProfileIn.model_validate({**sent, "profile_public": form.flag("profile_public")})
        known, current = profile.model_dump(exclude_unset=True), _profile_fields(user)
        wanted = changes_upon(session, Written(None, user.id), form.text("seen"), known, current)
    except Stale as error:
        return ask_which(request, form, error, "/account")
    except (PlatformError, ValueError) as error:
        problem = error if isinstance(error, PlatformError) else Invalid(_first_words(error))
        return _profile(request, user, form.text("seen"), problem, values=form.values())
    for name, value in wanted.items():
        setattr(user, name, value)
    move_digest(session, user)
    return redirect("/account", flash="Your profile is saved.")


def _first_words(error: ValueError) -> str:
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{str(first['loc'][0]).replace('_', ' ').capitalize()}: {in_words(first)}"
    return str(error)


@router.get("/teams")
def show_teams(request: Request, viewer: InBrowser, session: SessionDep) -> Response:
    """Where one takes part, and in which team."""
    rows = session.execute(
        select(Competition.slug, Competition.title, Membership, Team.name)
        .join(Membership, Membership.competition_id == Competition.id)
        .outerjoin(Team, Team.id == Membership.team_id)
        .where(
            Membership.user_id == viewer.id,
            Membership.status.not_in((MemberStatus.WITHDRAWN, MemberStatus.INVITED)),
            Competition.deleted_at.is_(None),
        )
        .order_by(Membership.created_at.desc())
    ).all()
    return account_page(
        request,
        "teams",
        invitations=[
            {
                "slug": c.slug,
                "title": c.title,
                "role": m.role.value,
                "terms": c.terms if must_accept(c, m) else "",
            }
            for c, m in list_invitations(session, viewer.id)
        ],
        memberships=[
            {"slug": slug, "title": title, "role": m.role.value, "status": m.status.value, "team": team}
            for slug, title, m, team in rows
        ],
    )


@router.post("/invitations/{slug}/{reply}")
def reply_to_invitation(
    viewer: InBrowser,
    session: SessionDep,
    form: FormDep,
    slug: Annotated[str, Path(max_length=64)],
    reply: Annotated[str, Path(pattern="^(accept|decline)$")],
) -> Response:
    """Accept or decline an invitation to a competition."""
    user = session.get_one(User, viewer.id)
    try:
        accept = reply == "accept"
        answer_invitation(session, slug, user, accept=accept, accepts_terms=form.flag("accepts_terms"))
    except PlatformError as error:
        return redirect("/account/teams", flash=error.message, tone="bad")
    if not accept:
        return redirect("/account/teams", flash="The invitation is declined.")
    return redirect(f"/competitions/{slug}", flash="You have joined.")


@router.get("/tokens")
def show_tokens(request: Request, viewer: InBrowser, session: SessionDep) -> Response:
    """The tokens, and a form for a new one."""
    return _tokens(request, viewer, session)


def _tokens(
    request: Request,
    viewer: Viewer,
    session: SessionDep,
    *,
    secret: str = "",
    problem: PlatformError | None = None,
) -> Response:
    return account_page(
        request,
        "tokens",
        problem,
        tokens=service.list_tokens(session, viewer.id),
        scopes=[(scope.value, label, words) for scope, label, words in SCOPE_WORDS],
        secret=secret,
    )


@router.post("/tokens")
def make_token(request: Request, viewer: Proved, session: SessionDep, form: FormDep) -> Response:
    """Create a token and show it, this once."""
    known = {scope.value for scope in Scope}
    days = small_number(form.text("days", 4)) or 0
    try:
        made = service.create_token(
            session,
            viewer.id,
            name=form.text("name", 200),
            scopes=[Scope(word) for word in form.all("scope") if word in known],
            expires_at=now() + timedelta(days=days) if days > 0 else None,
            proved_at=viewer.proved_at,
        )
    except PlatformError as error:
        return _tokens(request, viewer, session, problem=error)
    return _tokens(request, viewer, session, secret=made.secret)


@router.post("/tokens/{token_id}/revoke")
def revoke_token(
    token_id: Annotated[str, Path(max_length=32)], viewer: InBrowser, session: SessionDep
) -> Response:
    """Revoke a token."""
    service.revoke_token(session, viewer.id, token_id)
    return redirect("/account/tokens", flash="The token is revoked. Whatever used it is refused from now on.")


@router.get("/security")
def show_security(
    request: Request, viewer: InBrowser, services: ServicesDep, session: SessionDep
) -> Response:
    """E-mail address, password, and the browsers that are signed in."""
    return security_page(request, viewer, services, session)


def security_page(
    request: Request,
    viewer: Viewer,
    services: ServicesDep,
    session: SessionDep,
    problem: PlatformError | None = None,
    values: dict[str, str] | None = None,
) -> Response:
    """The page of address, password and sessions, with what was refused."""
    user = session.get_one(User, viewer.id)
    return account_page(
        request,
        "security",
        problem,
        sessions=service.list_sessions(session, viewer.id),
        this_session=viewer.session_id,
        browser_words=browser_words,
        has_password=user.password_hash is not None,
        log_ins=oauth.list_log_ins(session, viewer.id),
        offered=oauth.offered(services.settings),
        second_factor_since=user.second_factor_since,
        address=user.email if user.email_verified_at is not None else None,
        unconfirmed=user.email if user.email_verified_at is None else None,
        asks_to_confirm=services.settings.asks_to_confirm,
        **({"values": values} if values else {}),
    )


@router.post("/security/password")
def change_password(
    request: Request, viewer: InBrowser, services: ServicesDep, session: SessionDep, form: FormDep
) -> Response:
    """Set a new password."""
    try:
        known = know_password(services, viewer, form.text("old", 320))
        new, keep = form.text("password", 320), viewer.session_id
        service.change_password(services.database, known, new=new, keep_session=keep)
    except NeedsProof:
        raise
    except PlatformError as error:
        error.details.setdefault("field", "old")
        return security_page(request, viewer, services, session, error)
    return redirect("/account/security", flash="Your password is changed; all other sessions have ended.")


@router.post("/security/log-ins/{identity_id}/remove")
def remove_log_in(
    identity_id: Annotated[str, Path(max_length=32)], viewer: Proved, session: SessionDep
) -> Response:
    """Let an account elsewhere log in no more."""
    try:
        label = oauth.remove_log_in(session, viewer.id, identity_id)
    except PlatformError as error:
        return redirect("/account/security", flash=error.message, tone="bad")
    return redirect("/account/security", flash=f"You can no longer log in with {label}.")


@router.post("/security/sessions/{session_id}/end")
def end_session(
    session_id: Annotated[str, Path(max_length=32)], viewer: InBrowser, session: SessionDep
) -> Response:
    """Sign one browser out."""
    service.end_session(session, viewer.id, session_id)
    return redirect("/account/security", flash="That browser is logged out.")


@router.get("/data.json")
def download_my_data(viewer: InBrowser, session: SessionDep) -> Response:
    """All that the site holds about the account, as a file."""
    content = read_own_data(session, viewer).model_dump_json(indent=1)
    name = f'attachment; filename="anyshot-{viewer.username}.json"'
    return Response(content, media_type="application/json", headers={"content-disposition": name})


@router.get("/delete")
def show_delete(request: Request, viewer: InBrowser, session: SessionDep) -> Response:
    """Says what goes and what stays, and asks for the name."""
    return _delete_page(request, viewer, session)


def _delete_page(
    request: Request, viewer: Viewer, session: Session, problem: PlatformError | None = None
) -> Response:
    owned = owned_alone(session, viewer.id)
    return account_page(request, "delete", problem, username=viewer.username, owned_alone=owned)


@router.post("/delete")
def delete_account(
    request: Request, viewer: InBrowser, services: ServicesDep, session: SessionDep, form: FormDep
) -> Response:
    """Erase personal data; a pseudonym stays where others' records refer to it."""
    try:
        if form.text("confirm_name", 64) != viewer.username:
            raise Invalid("Type your user name exactly.", field="confirm_name")
        known = know_password(services, viewer, form.text("password", 320))
    except service.WrongPassword as problem:
        return _delete_page(request, viewer, session, Invalid(str(problem), field="password"))
    except NeedsProof:
        raise
    except PlatformError as problem:
        return _delete_page(request, viewer, session, problem)
    try:
        erase_user(session, service.as_then(session, known))
    except PlatformError as problem:
        return _delete_page(request, viewer, session, problem)
    response = redirect("/", flash="Your account is deleted.")
    response.delete_cookie(SESSION_COOKIE, path="/")
    return response


# Each says what the ones below it say too: an Edge says Chrome, and both say Safari.
_BROWSERS = (
    (r"Edg(?:e|A|iOS)?/", "Edge"),
    (r"OPR/|Opera", "Opera"),
    (r"Firefox/|FxiOS/", "Firefox"),
    (r"Chrome/|CriOS/|Chromium/", "Chrome"),
    (r"Safari/", "Safari"),
)
_SYSTEMS = (
    (r"iPhone|iPad", "iOS"),
    (r"Android", "Android"),
    (r"Windows", "Windows"),
    (r"CrOS", "ChromeOS"),
    (r"Macintosh|Mac OS X", "macOS"),
    (r"Linux|X11", "Linux"),
)


def browser_words(user_agent: str) -> str:
    """`Firefox on Windows`; as far as it says, else what it calls itself, shortened."""
    browser, system = (
        next((name for pattern, name in known if re.search(pattern, user_agent)), "")
        for known in (_BROWSERS, _SYSTEMS)
    )
    if browser and system:
        return f"{browser} on {system}"
    return browser or user_agent[:60] or "unknown"
