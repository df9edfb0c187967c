"""People and teams of a competition over JSON, for its organizers."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from anyshot_platform.actions.concurrency import tag_of
from anyshot_platform.actions.declaration import ActRequest
from anyshot_platform.actions.many import ManyDone, do_to_many
from anyshot_platform.actions.service import ActOutcome, carry_out
from anyshot_platform.contest.competitions.actions import member_acts, people
from anyshot_platform.contest.competitions.actions.member_acts import Invitation
from anyshot_platform.contest.competitions.actions.moving import ACTS, MANY, UNDO
from anyshot_platform.contest.competitions.actions.people import PeopleFilter
from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.service import find_membership
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.paging import ListPage, PageParam
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_platform.site.shell.act_frame import ActAnswer, ConsentIn, IfMatch, ManyIn, answer, answer_model
from anyshot_platform.site.shell.act_routes import add_acts
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsOwner, AsReviewer
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/api/v1/competitions/{slug}/manage/people", tags=["organizing: people"])
MemberParam = Annotated[str, Path(max_length=64, description="the id of the membership, or the user's name")]
Word = Annotated[str, Query(max_length=100)]
MOST_EXTRA = 1_000_000


class TeamOut(BaseModel):
    """A member's team; the quotas come on top of the phases'."""

    id: str
    name: str
    extra_quota_day: int
    extra_quota_phase: int
    out_of_ranking: bool
    etag: str = Field(description="for `If-Match` of a change of the quota")


class MemberOut(BaseModel):
    """A member as organizers see them; reviewers see no `email`."""

    id: str
    username: str
    email: str | None
    role: Role
    status: MemberStatus
    reason: str
    notes: str
    etag: str = Field(description="for `If-Match` of a change of the notes")
    team: TeamOut | None
    joined_at: datetime


class InviteIn(ConsentIn):
    """An existing user, by name; who becomes more than a participant is confirmed by name."""

    username: str = Field(max_length=320)
    role: Role


class MemberIn(BaseModel):
    """A note that only organizers see."""

    model_config = ConfigDict(extra="forbid")

    notes: str = Field(max_length=20_000)


ManyAct = Literal["approve", "reject", "ban"]


class PeopleActIn(ManyIn):
    """What to do, to these people or to all that a filter shows."""

    act: ManyAct
    ids: list[str] = Field(default=[], max_length=10_000, description="of memberships, or user names")
    filter: PeopleFilter | None = None


@dataclass(frozen=True)
class PeopleDone(ManyDone):
    """Whom it was done to, by the id of the membership; `skipped` says why not, `undo` takes it back."""

    undo: str | None


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
) -> ListPage[MemberOut]:
    """Members, those that wait first, filtered by name, e-mail or team, by status and by role."""
    found, place = people.list_people(session, access, PeopleFilter(q, status, role), page)
    return place.of([_show(access, person.membership, person.user, person.team) for person in found])


@router.post("/acts")
def act_on_many(access: AsOrganizer, session: SessionDep, body: PeopleActIn) -> PeopleDone:
    """Admit, reject or ban many people; who cannot be is left out with the reason."""
    if bool(body.ids) == (body.filter is not None):
        raise Invalid("Give either ids or a filter.", field="ids")
    chosen = people.pick_members(session, access, body.ids, body.filter)
    asked = ActRequest(access.viewer.id, body.reason)
    found = do_to_many(session, MANY[body.act], chosen, asked, body.consent())
    unknown = dict.fromkeys(body.ids, "There is no such member.")
    for member in chosen:
        unknown.pop(member.id, None)
        unknown.pop(member.user.username, None)
    undo = UNDO[body.act] if found.done else None
    return PeopleDone(found.done, {**unknown, **found.skipped}, found.warnings, undo)


@router.post("", status_code=201, response_model=answer_model(MemberOut))
def invite(access: AsOwner, session: SessionDep, body: InviteIn) -> ActAnswer:
    """Invite a user as organizer, reviewer or participant, by name; a member gets the role at once."""
    user = people.find_user(session, body.username)
    wish = ActRequest(access.viewer.id, body.reason, member_acts.RoleChoice(role=body.role))
    invitation = Invitation(access.competition, user)
    outcome = carry_out(session, member_acts.INVITE, invitation, wish, body.consent())
    membership = find_membership(session, access.competition.id, user.id)
    assert membership is not None
    return answer(MemberOut, _show_member(access, session, membership), outcome)


def _find(session: Session, competition: Competition, membership_id: MemberParam) -> Membership:
    return people.find_member(session, competition, membership_id)


def _after(
    session: Session, access: CompetitionAccess, membership: Membership, outcome: ActOutcome
) -> MemberOut:
    return _show_member(access, session, membership)


add_acts(router, ACTS, _find, _after, at="/{membership_id}")


@router.put("/{membership_id}/notes")
def note(
    access: AsOrganizer,
    session: SessionDep,
    membership_id: MemberParam,
    body: MemberIn,
    if_match: IfMatch = None,
) -> MemberOut:
    """Keep a note that only organizers see."""
    membership = people.find_member(session, access.competition, membership_id)
    people.note(session, membership, body.notes, access.viewer.id, if_match)
    return _show_member(access, session, membership)


@router.put("/{membership_id}/quota")
def set_quota(
    access: AsOrganizer,
    session: SessionDep,
    membership_id: MemberParam,
    body: QuotaIn,
    if_match: IfMatch = None,
) -> MemberOut:
    """Give the person's team more (or less) quota than others, or take it out of the ranking."""
    membership = people.find_member(session, access.competition, membership_id)
    team = people.find_team(session, access.competition, membership.team_id or "")
    sent = body.model_dump(include={"day", "phase", "out_of_ranking"})
    people.change_team(session, team, sent, body.reason, access.viewer.id, if_match)
    return _show_member(access, session, membership)


def _show_member(access: CompetitionAccess, session: Session, membership: Membership) -> MemberOut:
    session.flush()
    team = session.get(Team, membership.team_id) if membership.team_id else None
    return _show(access, membership, session.get_one(User, membership.user_id), team)


def _show(access: CompetitionAccess, membership: Membership, user: User, team: Team | None) -> MemberOut:
    return MemberOut(
        id=membership.id,
        username=user.username,
        email=people.address_of(access, membership, user),
        role=membership.role,
        status=membership.status,
        reason=membership.status_reason,
        notes=membership.notes,
        etag=tag_of({"note": membership.notes}),
        joined_at=membership.created_at,
        team=TeamOut(
            id=team.id,
            name=team.name,
            extra_quota_day=team.extra_quota_day,
            extra_quota_phase=team.extra_quota_phase,
            out_of_ranking=team.out_of_ranking,
            etag=tag_of(people.team_fields(team)),
        )
        if team
        else None,
    )
