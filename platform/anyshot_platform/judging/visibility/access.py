"""What a viewer is to a competition and to a submission: found out once, handed on with the object."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Select, and_, false, or_, select, true
from sqlalchemy.orm import Session, joinedload

from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.states import CompetitionState, MemberStatus, Role, Visibility
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Forbidden, NotFound, NotSignedIn
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.phases import PhaseSight, look_at_phase
from anyshot_platform.judging.visibility.submissions import Sight, look
from anyshot_platform.people.users.viewer import (
    STANDS_FOR_MANY,
    Cohort,
    Scope,
    Viewer,
    lacks,
    require_second_factor,
)


@dataclass(frozen=True)
class CompetitionAccess:
    """A competition and what the viewer is in it."""

    competition: Competition
    viewer: Viewer
    membership: Membership | None
    role: Role | None  # None: neither member nor site administrator

    @property
    def team_id(self) -> str | None:
        """The team that the viewer is in now. Who waits, was banned or rejected, or left, is in none."""
        member = self.membership
        return member.team_id if member is not None and member.status == MemberStatus.APPROVED else None

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
    if viewer.cohort == Cohort.PARTICIPANTS:
        membership = _usual_member(competition)
    elif viewer.user_id is not None and viewer.cohort is None:
        membership = session.scalars(
            select(Membership).where(
                Membership.competition_id == competition.id, Membership.user_id == viewer.user_id
            )
        ).one_or_none()
    return access_of(viewer, competition, membership)


def access_of(viewer: Viewer, competition: Competition, membership: Membership | None) -> CompetitionAccess:
    """What the viewer, whose membership it is, is in the competition."""
    role = membership.role if membership is not None and membership.status == MemberStatus.APPROVED else None
    role = Role.OWNER if viewer.is_site_admin else role
    return CompetitionAccess(competition, viewer, membership, _as_scoped(role, viewer))


def _usual_member(competition: Competition) -> Membership:
    """A participant of whom nothing is asked: no row, so nothing that it owns is found."""
    return Membership(
        competition_id=competition.id,
        user_id=STANDS_FOR_MANY,
        status=MemberStatus.APPROVED,
        role=Role.PARTICIPANT,
        team_id=STANDS_FOR_MANY,
        terms_version=competition.terms_version,
    )


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


def teams_of(user_id: str) -> Select[str | None]:
    """The ids of the teams that somebody is in now, as a query; as `CompetitionAccess.team_id` tells them."""
    return select(Membership.team_id).where(
        Membership.user_id == user_id,
        Membership.status == MemberStatus.APPROVED,
        Membership.team_id.is_not(None),
    )


def is_own(user_id: str) -> ColumnElement[bool]:
    """Submissions that somebody reads as their own: those of their teams, and what they handed in themselves."""
    return or_(Submission.team_id.in_(teams_of(user_id)), Submission.user_id == user_id)


def organized_ids(viewer: Viewer) -> Select[str]:
    """The ids of the competitions that the viewer organizes, as a query."""
    return organized_by(viewer.owner_id or "")


def organized_by(user_id: str) -> Select[str]:
    """The ids of the competitions that somebody organizes, as a query."""
    return select(Membership.competition_id).where(
        Membership.user_id == user_id,
        Membership.status == MemberStatus.APPROVED,
        Membership.role.in_([Role.OWNER, Role.ORGANIZER]),
    )


def organized(session: Session, viewer: Viewer) -> Sequence[Competition]:
    """The competitions that the viewer organizes, by title."""
    query = select(Competition).where(
        Competition.id.in_(organized_ids(viewer)), Competition.deleted_at.is_(None)
    )
    return session.scalars(query.order_by(Competition.title)).all()


def find_competition(session: Session, slug: str) -> Competition:
    """The competition of that address; raises `NotFound`."""
    competition = session.scalars(select(Competition).where(Competition.slug == slug)).one_or_none()
    if competition is None:
        raise NotFound("There is no such competition.")
    return competition


KNOWING = (MemberStatus.APPROVED, MemberStatus.INVITED)  # they know of a private competition


def is_shown(competition: Competition) -> bool:
    """Whether others than its organizers know of a competition: no draft, opened, not deleted."""
    waits = competition.opens_at is not None and competition.opens_at > now()
    return not (competition.state == CompetitionState.DRAFT or waits or competition.deleted_at is not None)


def require_visible(access: CompetitionAccess) -> None:
    """Raise `NotFound` where the viewer may not know of the competition.

    Its reviewers and organizers always may. To others it is hidden while it is a draft, before it opens, and when it is
    deleted; a private one is seen by its members and by who is invited. One of its organizers who looks as somebody
    else sees it as that person will.
    """
    competition, membership = access.competition, access.membership
    member = membership is not None and membership.status in KNOWING
    hidden = not is_shown(competition) or (competition.visibility == Visibility.PRIVATE and not member)
    looks = access.viewer.look is not None and access.viewer.look.competition_id == competition.id
    if hidden and not looks and not access.may(Role.REVIEWER):
        raise NotFound("There is no such competition.")


def listed_for(viewer: Viewer) -> ColumnElement[bool]:
    """The competitions that lists show to a viewer, as a condition: what they may see, and unlisted ones if members."""
    if viewer.is_site_admin:
        return true()
    own = select(Membership.competition_id).where(Membership.user_id == (viewer.user_id or ""))
    approved = own.where(Membership.status == MemberStatus.APPROVED, Membership.role != Role.PARTICIPANT)
    reviews = Competition.id.in_(approved) if Scope.ORGANIZE in viewer.scopes else false()
    opened = or_(Competition.opens_at.is_(None), Competition.opens_at <= now())
    knows = Competition.id.in_(own.where(Membership.status.in_(KNOWING)))
    shown = or_(Competition.visibility == Visibility.PUBLIC, knows)
    return or_(
        and_(Competition.state != CompetitionState.DRAFT, opened, shown),
        reviews,
    )


def require_role(access: CompetitionAccess, role: Role) -> None:
    """Raise unless the viewer may know of the competition and has the role."""
    require_visible(access)
    if not access.may(role):
        if not access.viewer.is_signed_in:
            raise NotSignedIn("Please log in.")
        if Scope.ORGANIZE not in access.viewer.scopes:
            require_second_factor(access.viewer)
            raise lacks(access.viewer, Scope.ORGANIZE)
        raise _not_enough(access, role)


_KEPT_FOR = {
    Role.REVIEWER: "Only organizers and reviewers of this competition can do this.",
    Role.ORGANIZER: "Only organizers of this competition can do this.",
    Role.OWNER: "Only the owner of this competition can do this.",
}


def _not_enough(access: CompetitionAccess, role: Role) -> Forbidden:
    if role != Role.PARTICIPANT:
        return Forbidden(_KEPT_FOR[role])
    if access.membership is None:
        return Forbidden(
            "Only participants of this competition can see this page. Join the competition first.",
            join=f"/competitions/{access.competition.slug}/join",
        )
    return Forbidden("Only approved participants of this competition can see this page.")


@dataclass(frozen=True)
class SubmissionAccess:
    """A submission, what the viewer is to it, and what they see of it."""

    submission: Submission
    access: CompetitionAccess
    is_own: bool  # of the viewer's team, or handed in by the viewer
    sight: Sight

    @property
    def viewer(self) -> Viewer:
        """The one who asks."""
        return self.access.viewer

    @property
    def of_team(self) -> bool:
        """Whether the viewer is in its team now: the members of a team change what is the team's, nobody else of it."""
        return self.access.team_id == self.submission.team_id

    @property
    def sees_team(self) -> bool:
        """Whether the viewer sees what else its team handed in."""
        return self.of_team or self.sight.everything

    def beside(self) -> ColumnElement[bool]:
        """The submissions that the viewer sees beside it, as a condition: its team's, or of them their own."""
        of_team = Submission.team_id == self.submission.team_id
        return of_team if self.sees_team else and_(of_team, Submission.user_id == self.viewer.user_id)


def find_submission_access(session: Session, viewer: Viewer, submission_id: str) -> SubmissionAccess:
    """The submission, if the viewer's team owns it or the viewer may review; else `NotFound`.

    Who is no longer in its team sees what they handed in themselves, and nothing more of the team.
    """
    around = (Submission.competition, Submission.phase, Submission.team)
    submission = session.get(Submission, submission_id, options=[joinedload(one) for one in around])
    if submission is None:
        raise NotFound("There is no such submission.")
    access = find_access(session, viewer, submission.competition)
    own = submission.team_id == access.team_id or submission.user_id == viewer.user_id
    sight = look(submission, access.role, own=own)
    if sight is None:
        raise NotFound("There is no such submission.")
    return SubmissionAccess(submission, access, own, sight)


def require_own(found: SubmissionAccess) -> None:
    """Raise `Forbidden` for those who are not in the submission's team: organizers too leave its notes alone."""
    if not found.of_team:
        raise Forbidden("Only the team that made this submission can change its note and tags.")
