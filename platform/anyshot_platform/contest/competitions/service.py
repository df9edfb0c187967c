"""Competitions: how they are made, found and joined."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition, Membership, Rehearsal
from anyshot_platform.contest.competitions.states import CompetitionState, MemberStatus, Registration, Role
from anyshot_platform.contest.competitions.teams import make_solo_team
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Conflict, Forbidden, Invalid
from anyshot_platform.foundation.slugs import check_slug
from anyshot_platform.people.users.models import User


class CannotJoin(Forbidden):
    """The competition does not take this user."""

    code = "cannot_join"


class TermsChanged(CannotJoin):
    """The terms are new since the participant accepted them."""

    code = "terms_changed"


def require_reachable(user: User) -> None:
    """Raise `CannotJoin` while an account's address is not confirmed."""
    if user.email is not None and user.email_verified_at is None:
        raise CannotJoin(
            "Please confirm your e-mail address first: open the link that was sent to you, or "
            "have it sent again under Account, Password and sessions."
        )


def require_terms(competition: Competition, membership: Membership) -> None:
    """Raise `TermsChanged` unless a participant has accepted the terms as they are now."""
    if must_accept(competition, membership):
        raise TermsChanged(
            (
                "The terms of this competition have changed. Read and accept version "
                f"{competition.terms_version} first: /competitions/{competition.slug}/join"
            ),
            terms_version=competition.terms_version,
        )


def must_accept(competition: Competition, membership: Membership) -> bool:
    """Whether a participant is to be asked to accept the terms; organizers wrote them."""
    accepted = membership.terms_version or 0
    asked = membership.role == Role.PARTICIPANT and accepted < competition.terms_version
    return bool(competition.terms) and asked


def create_competition(
    session: Session, owner: User, *, slug: str, title: str, summary: str = ""
) -> Competition:
    """Create a draft, owned by a user."""
    check_slug(slug)
    if session.scalar(select(Competition.id).where(Competition.slug == slug)) is not None:
        raise Conflict(f"There is a competition “{slug}” already.", field="slug")
    competition = Competition(slug=slug, title=title.strip(), summary=summary, created_by=owner.id)
    session.add(competition)
    session.flush()
    add_member(session, competition, owner, Role.OWNER)
    return competition


def add_member(session: Session, competition: Competition, user: User, role: Role) -> Membership:
    """Give a user a role; organizers get a team of their own, which stands out of the ranking."""
    membership = find_membership(session, competition.id, user.id)
    if membership is None:
        membership = Membership(competition_id=competition.id, user_id=user.id)
        session.add(membership)
    membership.role = role
    membership.status = MemberStatus.APPROVED
    session.flush()
    if membership.team_id is None:
        team = make_solo_team(session, membership, user)
        team.out_of_ranking = role != Role.PARTICIPANT
    session.flush()
    return membership


def find_membership(session: Session, competition_id: str, user_id: str) -> Membership | None:
    """The user's membership in a competition."""
    return session.scalars(
        select(Membership).where(Membership.competition_id == competition_id, Membership.user_id == user_id)
    ).one_or_none()


def join(
    session: Session,
    competition: Competition,
    user: User,
    *,
    accepts_terms: bool,
    pseudonym: str | None = None,
) -> Membership:
    """Become a participant: at once, or once an organizer approves.

    Raises `CannotJoin` or `Invalid`; joining twice changes nothing but accepts newer terms.
    """
    if competition.terms and not accepts_terms:
        raise Invalid("Please accept the terms of the competition.", field="accepts_terms")
    membership = find_membership(session, competition.id, user.id)
    if membership is not None:
        session.refresh(membership, with_for_update=True)  # a ban at this moment is not overwritten
    if membership is not None and membership.status == MemberStatus.BANNED:
        raise CannotJoin("You are banned from this competition.")
    if membership is not None and membership.status == MemberStatus.REJECTED:
        raise CannotJoin("The organizers declined your registration. Please ask them to admit you.")
    if membership is not None and _is_offered_a_role(membership):
        raise CannotJoin("You are invited; accept first, under Account, Competitions and teams.")
    if membership is None or membership.status == MemberStatus.WITHDRAWN:
        _require_joinable(competition, user)
    elif membership.status == MemberStatus.INVITED:
        require_reachable(user)
    if membership is None:
        membership = Membership(competition_id=competition.id, user_id=user.id, role=Role.PARTICIPANT)
        session.add(membership)
    if membership.status != MemberStatus.APPROVED:
        invited = membership.status == MemberStatus.INVITED
        by_approval = competition.registration == Registration.APPROVAL and not invited
        membership.status = MemberStatus.PENDING if by_approval else MemberStatus.APPROVED
    session.flush()
    if membership.team_id is None:
        make_solo_team(session, membership, user, pseudonym)
    membership.terms_version = competition.terms_version
    membership.terms_accepted_at = now()
    session.flush()
    return membership


def _is_offered_a_role(membership: Membership) -> bool:
    """Whether somebody is invited to organize or review: accepting gives the role, joining would give a ranked team."""
    return membership.status == MemberStatus.INVITED and membership.role != Role.PARTICIPANT


def _require_joinable(competition: Competition, user: User) -> None:
    if competition.state != CompetitionState.PUBLISHED or competition.deleted_at is not None:
        raise CannotJoin("This competition takes no participants now.")
    if competition.registration == Registration.CLOSED:
        raise CannotJoin("Registration for this competition is closed.")
    require_reachable(user)
    domain = (user.email_key or "").rpartition("@")[2]
    if competition.email_domains and domain not in {name.casefold() for name in competition.email_domains}:
        allowed = ", ".join(competition.email_domains)
        raise CannotJoin(f"Only e-mail addresses of these domains may join: {allowed}.")


def count_owners(session: Session, competition_id: str) -> int:
    """How many owners a competition has whose accounts are there."""
    query = (
        select(func.count(Membership.id))
        .join(User, User.id == Membership.user_id)
        .where(
            Membership.competition_id == competition_id,
            Membership.role == Role.OWNER,
            Membership.status == MemberStatus.APPROVED,  # one who was invited is none yet
            User.deleted_at.is_(None),
        )
    )
    return session.scalar(query) or 0


def owned_alone(session: Session, user_id: str) -> list[str]:
    """The titles of the competitions that have no other owner than somebody."""
    query = (
        select(Competition)
        .join(Membership, Membership.competition_id == Competition.id)
        .where(
            Membership.user_id == user_id,
            Membership.role == Role.OWNER,
            Membership.status == MemberStatus.APPROVED,
            Competition.deleted_at.is_(None),
            Competition.id.not_in(select(Rehearsal.copy_id)),
        )
    )
    owned = session.scalars(query.order_by(Competition.title)).all()
    return [competition.title for competition in owned if count_owners(session, competition.id) < 2]


def require_participant(membership: Membership | None) -> Membership:
    """The membership, if it may submit; raises `CannotJoin` with the reason."""
    reasons = {
        MemberStatus.PENDING: "The organizers have not approved your registration yet.",
        MemberStatus.INVITED: "You are invited; accept first, under Account, Competitions and teams.",
        MemberStatus.BANNED: "You are banned from this competition.",
        MemberStatus.REJECTED: "The organizers declined your registration.",
        MemberStatus.WITHDRAWN: "You have left this competition. Join again to submit.",
    }
    if membership is None:
        raise CannotJoin("Please join the competition first.")
    if membership.status in reasons:
        raise CannotJoin(reasons[membership.status])
    if membership.team_id is None:
        raise CannotJoin("You are in no team of this competition.")
    return membership


def list_competitions(
    session: Session,
    *,
    listed: ColumnElement[bool],
    search: str = "",
    archived: bool = False,
) -> Sequence[Competition]:
    """The competitions that are `listed` for a viewer (`judging.visibility.access.listed_for`), newest first."""
    query = (
        select(Competition)
        .where(Competition.deleted_at.is_(None), listed)
        .order_by(Competition.created_at.desc())
    )
    if not archived:
        query = query.where(Competition.state != CompetitionState.ARCHIVED)
    if search.strip():
        pattern = "%" + search.strip().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        query = query.where(
            or_(
                Competition.title.ilike(pattern, escape="\\"), Competition.summary.ilike(pattern, escape="\\")
            )
        )
    return session.scalars(query).all()
