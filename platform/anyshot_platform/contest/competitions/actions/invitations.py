"""Invitations: organizers invite by user name, the invited accept or decline. Nobody becomes a member unasked."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.actions import people
from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.service import (
    add_member,
    find_membership,
    must_accept,
    require_reachable,
)
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.contest.competitions.teams import keep_captained
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Invalid, NotFound
from anyshot_platform.people.notifications.service import notify
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User

_ASKED_THEMSELVES = (MemberStatus.APPROVED, MemberStatus.PENDING)


def offer(session: Session, competition: Competition, user: User, role: Role) -> Membership:
    """Offer a user a role; who is a member, or has asked to be one, gets it at once."""
    known = find_membership(session, competition.id, user.id)
    if known is not None and known.status in _ASKED_THEMSELVES:
        return people.take_in(session, competition, user, role)
    membership = known or Membership(competition_id=competition.id, user_id=user.id)
    membership.role, membership.status, membership.status_reason = role, MemberStatus.INVITED, ""
    session.add(membership)
    session.flush()
    # Short name only: titles and texts of strangers are no mails of this site.
    title = f"You are invited to the competition “{competition.slug}” as {role.value}"
    notify(session, [user.id], kind="membership", title=title, url="/account/teams")
    return membership


def list_invitations(session: Session, user_id: str) -> Sequence[tuple[Competition, Membership]]:
    """What a user is invited to, newest first."""
    query = (
        select(Competition, Membership)
        .join(Membership, Membership.competition_id == Competition.id)
        .where(
            Membership.user_id == user_id,
            Membership.status == MemberStatus.INVITED,
            Competition.deleted_at.is_(None),
        )
        .order_by(Membership.created_at.desc())
    )
    return [(row[0], row[1]) for row in session.execute(query)]


def answer_invitation(
    session: Session, slug: str, user: User, *, accept: bool, accepts_terms: bool = False
) -> Competition:
    """Accept or decline; raises `NotFound` where there is no invitation, `Invalid` where terms are not accepted."""
    found = next((pair for pair in list_invitations(session, user.id) if pair[0].slug == slug), None)
    if found is None:
        raise NotFound("There is no such invitation; it may have been taken back.")
    competition, membership = found
    session.refresh(membership, with_for_update=True)
    if not accept:
        membership.status, membership.role = MemberStatus.WITHDRAWN, Role.PARTICIPANT
        return competition
    require_reachable(user)
    if must_accept(competition, membership) and not accepts_terms:
        raise Invalid("Please accept the terms of the competition.", field="accepts_terms")
    _take_in(session, competition, user, membership)
    membership.terms_version, membership.terms_accepted_at = competition.terms_version, now()
    people.record_member(session, membership, user.id, "member.accept", after={"role": membership.role.value})
    return competition


def _take_in(session: Session, competition: Competition, user: User, membership: Membership) -> None:
    if membership.team_id is None:
        add_member(session, competition, user, membership.role)
        return
    membership.status = (
        MemberStatus.APPROVED
    )  # was here before, with a team that may have a row on the boards
    people.set_role(session, membership, membership.role)
    keep_captained(session, session.get_one(Team, membership.team_id))
