"""Access policies. Every route must have at least one, or the application refuses to start.

A policy is a dependency made here; it lets the request pass or raises. Those that look something up return it, so
an endpoint cannot get the object without having passed the policy:

    @router.get("/competitions/{slug}/queue")
    def show_queue(access: Annotated[CompetitionAccess, Depends(competition_role(Role.REVIEWER))]): ...

What a viewer may not know of is answered 404, what they may know of but not do 403.
"""

from collections.abc import Callable, Iterable
from typing import Annotated, Any

from fastapi import Depends, Path, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.foundation.errors import Forbidden, NotSignedIn
from anyshot_platform.judging.visibility.access import (
    CompetitionAccess,
    SubmissionAccess,
    find_access,
    find_competition,
    find_submission_access,
    require_role,
    require_visible,
)
from anyshot_platform.judging.workers.tokens import PREFIX as WORKER_PREFIX
from anyshot_platform.judging.workers.tokens import identify_worker
from anyshot_platform.people.accounts.proving import require_fresh
from anyshot_platform.people.users.viewer import Scope, Viewer, lacks, require_second_factor
from anyshot_platform.site.web.services import SAFE_METHODS, ServicesDep, SessionDep
from anyshot_platform.site.web.viewer import ViewerDep

_POLICY = "__access_policy__"


def policy(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a dependency as an access policy."""

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        setattr(function, _POLICY, name)
        return function

    return mark


def policies_of(route: APIRoute) -> list[str]:
    """The names of the policies that a route has, those of its dependencies' dependencies included."""

    def walk(dependant: Dependant) -> Iterable[str]:
        name = getattr(dependant.call, _POLICY, None)
        if name is not None:
            yield name
        for child in dependant.dependencies:
            yield from walk(child)

    return sorted(set(walk(route.dependant)))


def refuse_open_routes(routes: Iterable[Any]) -> None:
    """Raise if any route has no policy: who forgets to say who may do something has said nobody."""
    bare = [route.path for route in routes if isinstance(route, APIRoute) and not policies_of(route)]
    if bare:
        raise RuntimeError(f"routes without an access policy: {', '.join(bare)}")


def require_scope(request: Request, viewer: Viewer, scope: Scope) -> None:
    """Raise unless the viewer's token has the scope. READ is enough to look, but not at what organizers see."""
    needed = Scope.READ if request.method in SAFE_METHODS and scope != Scope.ORGANIZE else scope
    if needed not in viewer.scopes:
        require_second_factor(viewer)
        raise lacks(viewer, needed)


@policy("public")
def public() -> None:
    """Everyone may."""


def signed_in_as(scope: Scope) -> Callable[..., Viewer]:
    """Policy: anyone who is signed in; a token needs `scope` for unsafe methods."""

    @policy("signed_in")
    def signed_in(request: Request, viewer: ViewerDep) -> Viewer:
        if not viewer.is_signed_in:
            raise NotSignedIn("Please log in.")
        require_scope(request, viewer, scope)
        return viewer

    return signed_in


@policy("may_organize")
def may_organize(request: Request, viewer: ViewerDep, services: ServicesDep) -> Viewer:
    """Policy: those who may create competitions and pools: everyone, or whom the administrators let."""
    found = signed_in_as(Scope.ORGANIZE)(request, viewer)
    granted = viewer.may_organize or viewer.is_site_admin
    if services.settings.organizers == "granted" and not granted:
        raise Forbidden("The site's administrators decide who may organize. Please ask them.")
    return found


@policy("browser_session")
def browser_session(request: Request, viewer: ViewerDep) -> Viewer:
    """Policy: signed in with a browser, not with a token: for what a stolen token must not reach."""
    if not viewer.is_signed_in:
        raise NotSignedIn("Please log in.")
    if viewer.session_id is None:
        raise Forbidden("This needs a log-in with the browser, an API token is not enough.")
    if Scope.READ not in viewer.scopes and not request.url.path.startswith(("/account", "/logout")):
        require_second_factor(viewer)
    return viewer


def proved(door: Callable[..., Any]) -> Callable[..., Any]:
    """Policy: those whom `door` lets in and who said password or code lately; it returns what the door does.

    For what shows a secret, gives a right or takes one away without being an act, which declares its `danger`.
    """

    @policy("proof")
    def guard(viewer: ViewerDep, services: ServicesDep, found: Any = Depends(door)) -> Any:
        require_fresh(viewer, services.settings.prove_minutes)
        return found

    return guard


@policy("site_admin")
def site_admin(request: Request, viewer: ViewerDep) -> Viewer:
    """Policy: site administrators."""
    if not viewer.is_signed_in:
        raise NotSignedIn("Please log in.")
    require_scope(request, viewer, Scope.ORGANIZE)
    if not viewer.is_site_admin:
        raise Forbidden("Only site administrators may do this.")
    return viewer


SlugParam = Annotated[str, Path(max_length=64, description="The competition's short name in addresses.")]


@policy("visible_competition")
def visible_competition(slug: SlugParam, session: SessionDep, viewer: ViewerDep) -> CompetitionAccess:
    """Policy: everyone who may know of the competition."""
    access = find_access(session, viewer, find_competition(session, slug))
    require_visible(access)
    return access


def competition_role(role: Role, scope: Scope | None = None) -> Callable[..., CompetitionAccess]:
    """Policy: those who have `role` in the competition of the path's `slug`, or one that includes it."""
    needed = scope or (Scope.SUBMIT if role == Role.PARTICIPANT else Scope.ORGANIZE)

    @policy(f"competition_{role}")
    def guard(request: Request, slug: SlugParam, session: SessionDep, viewer: ViewerDep) -> CompetitionAccess:
        access = find_access(session, viewer, find_competition(session, slug))
        require_role(access, role)
        require_scope(request, viewer, needed)
        return access

    return guard


SubmissionParam = Annotated[str, Path(max_length=32)]


@policy("submission_reader")
def submission_reader(
    request: Request, submission_id: SubmissionParam, session: SessionDep, viewer: ViewerDep
) -> SubmissionAccess:
    """Policy: the submission's team, and reviewers and above of its competition."""
    if not viewer.is_signed_in:
        raise NotSignedIn("Please log in.")
    require_scope(request, viewer, Scope.READ)
    return find_submission_access(session, viewer, submission_id)


@policy("submission_owner")
def submission_owner(
    request: Request, submission_id: SubmissionParam, session: SessionDep, viewer: ViewerDep
) -> SubmissionAccess:
    """Policy: the submission's team, and organizers of its competition: those who may change it."""
    found = submission_reader(request, submission_id, session, viewer)
    if not (found.of_team or found.access.may(Role.ORGANIZER)):
        raise Forbidden(_why_not_theirs(found.access))
    require_scope(request, viewer, Scope.SUBMIT)
    return found


def _why_not_theirs(access: CompetitionAccess) -> str:
    """Why somebody changes nothing of a submission that they may read."""
    if access.may(Role.REVIEWER):
        return "Reviewers can look at everything and change nothing."
    if access.membership is not None and access.membership.status == MemberStatus.BANNED:
        return "You are banned from this competition."
    return "You are no longer in the team of this submission: its members alone can change it."


@policy("worker")
def worker_token(request: Request, services: ServicesDep) -> str:
    """Policy: a worker with a valid token; returns the token's id."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.startswith(WORKER_PREFIX):
        raise NotSignedIn("This needs a worker's token.")
    return identify_worker(services, secret)


WorkerTokenDep = Annotated[str, Depends(worker_token)]
