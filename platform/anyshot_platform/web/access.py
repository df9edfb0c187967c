"""Access policies. Every route must have at least one, or the application refuses to start.

A policy is a dependency made here; it lets the request pass or raises. Those that look something up return it, so
an endpoint cannot get the object without having passed the policy:

    @router.get("/competitions/{slug}/queue")
    def show_queue(access: Annotated[CompetitionAccess, Depends(competition_role(Role.REVIEWER))]): ...

What a viewer may not know of is answered 404, what they may know of but not do 403.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Path, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from anyshot_platform.competitions.models import Competition, Membership
from anyshot_platform.competitions.states import CompetitionState, MemberStatus, Role
from anyshot_platform.errors import Forbidden, NotFound, NotSignedIn
from anyshot_platform.phases.models import Phase
from anyshot_platform.sight.phases import PhaseSight, look_at_phase
from anyshot_platform.sight.submissions import Sight, look
from anyshot_platform.submissions.models import Submission
from anyshot_platform.web.services import SAFE_METHODS, ServicesDep, SessionDep
from anyshot_platform.web.viewer import Scope, Viewer, ViewerDep

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
        raise Forbidden(f"This API token lacks the scope “{needed}”.")


@policy("public")
def public() -> None:
    """Everyone may."""


def signed_in_as(scope: Scope) -> Callable[..., Viewer]:
    """Policy: anyone who is signed in; a token needs `scope` for unsafe methods."""

    @policy("signed_in")
    def signed_in(request: Request, viewer: ViewerDep) -> Viewer:
        if not viewer.is_signed_in:
            raise NotSignedIn("Please sign in.")
        require_scope(request, viewer, scope)
        return viewer

    return signed_in


@policy("may_organize")
def may_organize(request: Request, viewer: ViewerDep, services: ServicesDep) -> Viewer:
    """Policy: those who may begin competitions and pools: everyone, or whom the administrators let."""
    found = signed_in_as(Scope.ORGANIZE)(request, viewer)
    granted = viewer.may_organize or viewer.is_site_admin
    if services.settings.organizers == "granted" and not granted:
        raise Forbidden("Who may organize is decided by the site's administrators. Please ask them.")
    return found


@policy("browser_session")
def browser_session(viewer: ViewerDep) -> Viewer:
    """Policy: signed in with a browser, not with a token: for what a stolen token must not reach."""
    if not viewer.is_signed_in:
        raise NotSignedIn("Please sign in.")
    if viewer.session_id is None:
        raise Forbidden("This needs a log-in with the browser, an API token is not enough.")
    return viewer


@policy("site_admin")
def site_admin(request: Request, viewer: ViewerDep) -> Viewer:
    """Policy: site administrators."""
    if not viewer.is_signed_in:
        raise NotSignedIn("Please sign in.")
    if not viewer.is_site_admin:
        raise Forbidden("Only site administrators may do this.")
    require_scope(request, viewer, Scope.ORGANIZE)
    return viewer


@dataclass(frozen=True)
class CompetitionAccess:
    """A competition and what the viewer is in it."""

    competition: Competition
    viewer: Viewer
    membership: Membership | None
    role: Role | None  # None: neither member nor site administrator

    def may(self, role: Role) -> bool:
        """Whether the viewer has the role or one that includes it."""
        return self.role is not None and self.role.includes(role)

    def sight_of(self, phase: Phase) -> PhaseSight:
        """What the viewer sees of one of the competition's phases."""
        return look_at_phase(phase, self.role)


def find_access(session: Session, viewer: Viewer, competition: Competition) -> CompetitionAccess:
    """What the viewer is in the competition. Site administrators are owners everywhere.

    A token without the scope `organize` is a participant's: no seed, hidden dataset or secret of others comes by it.
    """
    membership = None
    if viewer.user_id is not None:
        membership = session.scalars(
            select(Membership).where(
                Membership.competition_id == competition.id, Membership.user_id == viewer.user_id
            )
        ).one_or_none()
    role = membership.role if membership is not None and membership.status == MemberStatus.APPROVED else None
    role = Role.OWNER if viewer.is_site_admin else role
    return CompetitionAccess(competition, viewer, membership, _as_scoped(role, viewer))


def _as_scoped(role: Role | None, viewer: Viewer) -> Role | None:
    return role if role is None or Scope.ORGANIZE in viewer.scopes else Role.PARTICIPANT


def find_roles(session: Session, viewer: Viewer, competitions: Iterable[str]) -> dict[str, Role]:
    """The viewer's roles in these competitions, by their ids; as `find_access` tells them."""
    if viewer.is_site_admin:
        return dict.fromkeys(competitions, Role.OWNER)
    rows = session.execute(
        select(Membership.competition_id, Membership.role).where(
            Membership.competition_id.in_(list(competitions)),
            Membership.user_id == viewer.user_id,
            Membership.status == MemberStatus.APPROVED,
        )
    )
    return {row.competition_id: _as_scoped(row.role, viewer) or row.role for row in rows}


def find_competition(session: Session, slug: str) -> Competition:
    """The competition of that address; raises `NotFound`."""
    competition = session.scalars(select(Competition).where(Competition.slug == slug)).one_or_none()
    if competition is None:
        raise NotFound("There is no such competition.")
    return competition


def require_visible(access: CompetitionAccess) -> None:
    """Raise `NotFound` where the viewer may not know of the competition: drafts, and deleted ones."""
    hidden = access.competition.state == CompetitionState.DRAFT or access.competition.deleted_at is not None
    if hidden and not access.may(Role.REVIEWER):
        raise NotFound("There is no such competition.")


def require_role(access: CompetitionAccess, role: Role) -> None:
    """Raise unless the viewer may know of the competition and has the role."""
    require_visible(access)
    if not access.may(role):
        if not access.viewer.is_signed_in:
            raise NotSignedIn("Please sign in.")
        if Scope.ORGANIZE not in access.viewer.scopes:
            raise Forbidden("This API token lacks the scope “organize”.")
        raise Forbidden(f"Only those with the role “{role}” in this competition may do this.")


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


@dataclass(frozen=True)
class SubmissionAccess:
    """A submission, what the viewer is to it, and what they see of it."""

    submission: Submission
    access: CompetitionAccess
    is_own: bool  # of the viewer's team
    sight: Sight

    @property
    def viewer(self) -> Viewer:
        """The one who asks."""
        return self.access.viewer


def find_submission_access(session: Session, viewer: Viewer, submission_id: str) -> SubmissionAccess:
    """The submission, if the viewer's team owns it or the viewer may review; else `NotFound`."""
    around = (Submission.competition, Submission.phase, Submission.team)
    submission = session.get(Submission, submission_id, options=[joinedload(one) for one in around])
    if submission is None:
        raise NotFound("There is no such submission.")
    access = find_access(session, viewer, submission.competition)
    own = access.membership is not None and (
        access.membership.team_id == submission.team_id or submission.user_id == viewer.user_id
    )
    sight = look(submission, access.role, own=own)
    if sight is None:
        raise NotFound("There is no such submission.")
    return SubmissionAccess(submission, access, own, sight)


SubmissionParam = Annotated[str, Path(max_length=32)]


@policy("submission_reader")
def submission_reader(
    request: Request, submission_id: SubmissionParam, session: SessionDep, viewer: ViewerDep
) -> SubmissionAccess:
    """Policy: the submission's team, and reviewers and above of its competition."""
    if not viewer.is_signed_in:
        raise NotSignedIn("Please sign in.")
    require_scope(request, viewer, Scope.READ)
    return find_submission_access(session, viewer, submission_id)


@policy("submission_owner")
def submission_owner(
    request: Request, submission_id: SubmissionParam, session: SessionDep, viewer: ViewerDep
) -> SubmissionAccess:
    """Policy: the submission's team, and organizers of its competition: those who may change it."""
    found = submission_reader(request, submission_id, session, viewer)
    if not (found.is_own or found.access.may(Role.ORGANIZER)):
        raise Forbidden("Reviewers look, they change nothing.")
    membership = found.access.membership
    banned = membership is not None and membership.status == MemberStatus.BANNED
    if banned and not found.access.may(Role.ORGANIZER):
        raise Forbidden("You are banned from this competition.")
    require_scope(request, viewer, Scope.SUBMIT)
    return found
