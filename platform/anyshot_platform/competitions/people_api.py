"""People and teams of a competition over JSON, for its organizers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from anyshot_platform.competitions import people
from anyshot_platform.competitions.manage_frame import AsOrganizer, AsOwner, AsReviewer
from anyshot_platform.competitions.models import Membership
from anyshot_platform.competitions.states import MemberStatus, Role
from anyshot_platform.teams.models import Team
from anyshot_platform.users.models import User
from anyshot_platform.web.paging import PageParam
from anyshot_platform.web.services import SessionDep

router = APIRouter(prefix="/api/v1/competitions/{slug}/manage/people", tags=["organizing: people"])
MemberParam = Annotated[str, Path(max_length=32)]
Word = Annotated[str, Query(max_length=100)]
MOST_EXTRA = 1_000_000


class TeamOut(BaseModel):
    """A member's team; the quotas come on top of the phases'."""

    id: str
    name: str
    extra_quota_day: int
    extra_quota_phase: int
    out_of_ranking: bool


class MemberOut(BaseModel):
    """A member as organizers see them."""

    id: str
    username: str
    email: str | None
    role: Role
    status: MemberStatus
    reason: str
    notes: str
    team: TeamOut | None
    joined_at: datetime


class MemberPage(BaseModel):
    """One page of the members, those that wait for a decision first."""

    total: int
    page: int
    pages: int
    items: list[MemberOut]


class InviteIn(BaseModel):
    """An existing user, by name or e-mail."""

    model_config = ConfigDict(extra="forbid")

    username: str = Field(max_length=320)
    role: Role


class WhyIn(BaseModel):
    """The person is told why."""

    model_config = ConfigDict(extra="forbid")

    reason: str = Field(default="", max_length=2000)


class MemberIn(BaseModel):
    """What changes; what is left out stays. Only owners give roles."""

    model_config = ConfigDict(extra="forbid")

    notes: str = Field(max_length=20_000)


class RoleIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    role: Role


class QuotaIn(BaseModel):
    """What a team may submit beyond the phases' quotas; negative numbers take away."""

    model_config = ConfigDict(extra="forbid")

    day: int = Field(default=0, ge=-MOST_EXTRA, le=MOST_EXTRA)
    phase: int = Field(default=0, ge=-MOST_EXTRA, le=MOST_EXTRA)
    out_of_ranking: bool = False
    reason: str = Field(default="", max_length=2000)


@router.get("")
def list_people(
    access: AsReviewer,
    session: SessionDep,
    q: Word = "",
    status: Word = "",
    role: Word = "",
    page: PageParam = 1,
) -> MemberPage:
    """Members, filtered by name, e-mail or team, by status and by role."""
    found, place = people.list_people(
        session, access.competition, text=q, status=status, role=role, number=page
    )
    return MemberPage(
        total=place.total,
        page=place.number,
        pages=place.pages,
        items=[_show(person.membership, person.user, person.team) for person in found],
    )


@router.post("", status_code=201)
def invite(access: AsOwner, session: SessionDep, body: InviteIn) -> MemberOut:
    """Make a user organizer, reviewer or participant."""
    membership = people.invite(session, access.competition, body.username, body.role, access.viewer.id)
    return _show_member(session, membership)


@router.post("/{membership_id}/approve")
def approve(access: AsOrganizer, session: SessionDep, membership_id: MemberParam) -> MemberOut:
    """Let somebody take part; lifts a ban too."""
    membership = people.find_member(session, access.competition, membership_id)
    people.approve(session, membership, access.viewer.id)
    return _show_member(session, membership)


@router.post("/{membership_id}/reject")
def reject(access: AsOrganizer, session: SessionDep, membership_id: MemberParam, body: WhyIn) -> MemberOut:
    """Turn a registration down."""
    membership = people.find_member(session, access.competition, membership_id)
    people.reject(session, membership, body.reason, access.viewer.id)
    return _show_member(session, membership)


@router.post("/{membership_id}/ban")
def ban(access: AsOrganizer, session: SessionDep, membership_id: MemberParam, body: WhyIn) -> MemberOut:
    """Close the competition to somebody; `approve` lifts it."""
    membership = people.find_member(session, access.competition, membership_id)
    people.ban(session, membership, body.reason, access.viewer.id)
    return _show_member(session, membership)


@router.put("/{membership_id}/notes")
def note(access: AsOrganizer, session: SessionDep, membership_id: MemberParam, body: MemberIn) -> MemberOut:
    """Keep a note that only organizers see."""
    membership = people.find_member(session, access.competition, membership_id)
    people.note(session, membership, body.notes, access.viewer.id)
    return _show_member(session, membership)


@router.put("/{membership_id}/role")
def set_role(access: AsOwner, session: SessionDep, membership_id: MemberParam, body: RoleIn) -> MemberOut:
    """Give a role; the last owner keeps theirs."""
    membership = people.find_member(session, access.competition, membership_id)
    people.set_role(session, membership, body.role, access.viewer.id)
    return _show_member(session, membership)


@router.put("/{membership_id}/quota")
def set_quota(
    access: AsOrganizer, session: SessionDep, membership_id: MemberParam, body: QuotaIn
) -> MemberOut:
    """Give the person's team more (or less) quota than others, or take it out of the ranking."""
    membership = people.find_member(session, access.competition, membership_id)
    people.change_team(
        session,
        people.find_team(session, access.competition, membership.team_id or ""),
        day=body.day,
        phase=body.phase,
        out_of_ranking=body.out_of_ranking,
        reason=body.reason,
        actor_id=access.viewer.id,
    )
    return _show_member(session, membership)


def _show_member(session: Session, membership: Membership) -> MemberOut:
    session.flush()
    team = session.get(Team, membership.team_id) if membership.team_id else None
    return _show(membership, session.get_one(User, membership.user_id), team)


def _show(membership: Membership, user: User, team: Team | None) -> MemberOut:
    return MemberOut(
        id=membership.id,
        username=user.username,
        email=user.email,
        role=membership.role,
        status=membership.status,
        reason=membership.status_reason,
        notes=membership.notes,
        joined_at=membership.created_at,
        team=TeamOut(
            id=team.id,
            name=team.name,
            extra_quota_day=team.extra_quota_day,
            extra_quota_phase=team.extra_quota_phase,
            out_of_ranking=team.out_of_ranking,
        )
        if team
        else None,
    )
