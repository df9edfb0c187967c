"""What organizers do with people: approve, ban, note, give roles and quota."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from sqlalchemy import Select, and_, func, or_, select
from sqlalchemy.orm import Session

from anyshot_platform.actions.concurrency import changes_upon
from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.service import add_member, find_membership
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.contest.competitions.teams import keep_captained
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Invalid, NotFound
from anyshot_platform.foundation.paging import Page, page_of
from anyshot_platform.foundation.texts import name_key
from anyshot_platform.judging.submissions.actions.submitting import refresh_boards
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.visibility.standing import standing_of
from anyshot_platform.people.accounts.service import find_by_name
from anyshot_platform.people.audit import service as audit
from anyshot_platform.people.notifications.service import notify
from anyshot_platform.people.teams.actions.ranking import NOT_HERE, rank_or_not, stays_out
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_platform.standings.entries.actions.acts import ask_again


@dataclass(frozen=True)
class Member:
    """A member with team and number of submissions; `email` as the viewer may see it."""

    membership: Membership
    user: User
    team: Team | None
    submissions: int
    email: str | None


@dataclass(frozen=True)
class PeopleFilter:
    """Which people; an empty word filters nothing."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    text: Annotated[str, Field(max_length=100, description="in name, e-mail or team")] = ""
    status: Annotated[str, Field(max_length=100)] = ""
    role: Annotated[str, Field(max_length=100)] = ""


def list_people(
    session: Session, access: CompetitionAccess, wanted: PeopleFilter, number: int = 1
) -> tuple[list[Member], Page]:
    """Members, those that wait first, filtered and paged. Who sees no addresses finds nobody by one."""
    query = _matching(access, wanted)
    total = session.scalar(select(func.count()).select_from(query.subquery())) or 0
    page = page_of(number, 50, total)
    order = query.order_by(Membership.status != MemberStatus.PENDING, User.username_key)
    rows = session.execute(order.offset(page.offset).limit(page.size)).all()
    counts = _counts(session, access.competition, [team.id for _, _, team in rows if team])
    people = [Member(m, u, t, counts.get(t.id, 0) if t else 0, address_of(access, m, u)) for m, u, t in rows]
    return people, page


def _matching(access: CompetitionAccess, wanted: PeopleFilter) -> Select[Membership, User, Team]:
    query = (
        select(Membership, User, Team)
        .join(User, User.id == Membership.user_id)
        .outerjoin(Team, Team.id == Membership.team_id)
        .where(Membership.competition_id == access.competition.id)
    )
    if wanted.status in set(MemberStatus):
        query = query.where(Membership.status == MemberStatus(wanted.status))
    if wanted.role in set(Role):
        query = query.where(Membership.role == Role(wanted.role))
    if wanted.text.strip():
        pattern = f"%{wanted.text.strip().casefold()}%"
        by_address = and_(User.email_key.like(pattern), Membership.status.not_in(NOT_HERE))
        named = or_(User.username_key.like(pattern), Team.name_key.like(pattern))
        query = query.where(or_(named, by_address) if access.may(Role.ORGANIZER) else named)
    return query


def pick_members(
    session: Session, access: CompetitionAccess, ids: Sequence[str], wanted: PeopleFilter | None = None
) -> list[Membership]:
    """The members of these ids or user names, or, with `wanted`, all that the table's filter shows."""
    if wanted is not None:
        return [member for member, _, _ in session.execute(_matching(access, wanted))]
    keys = [name_key(name) for name in ids]
    chosen = or_(Membership.id.in_(list(ids)), User.username_key.in_(keys))
    return [member for member, _, _ in session.execute(_matching(access, PeopleFilter()).where(chosen))]


def _counts(session: Session, competition: Competition, teams: list[str]) -> dict[str, int]:
    query = (
        select(Submission.team_id, func.count(Submission.id))
        .where(Submission.competition_id == competition.id, Submission.team_id.in_(teams))
        .where(Submission.kind != SubmissionKind.SMOKE)
        .group_by(Submission.team_id)
    )
    return dict(session.execute(query).all())


def find_member(session: Session, competition: Competition, membership_id: str) -> Membership:
    """A membership of this competition, by its id or the user's name; raises `NotFound`."""
    membership = session.get(Membership, membership_id)
    if membership is None and (user := find_by_name(session, membership_id)) is not None:
        membership = find_membership(session, competition.id, user.id)
    if membership is None or membership.competition_id != competition.id:
        raise NotFound(f"There is no member “{membership_id}” here.")
    return membership


def set_status(
    session: Session, membership: Membership, status: MemberStatus, reason: str = ""
) -> MemberStatus:
    """Admit, reject or ban somebody and tell them; what the status was before.

    Who is banned uploads nothing any more, and their submissions are disqualified until the ban is lifted.
    """
    session.refresh(membership, with_for_update=True)  # who joins at this moment waits
    before = membership.status
    membership.status, membership.status_reason = status, reason
    session.flush()
    if MemberStatus.BANNED in (before, status) and membership.team_id:
        _follow_ban(session, membership, banned=status == MemberStatus.BANNED, reason=reason)
    if before != status and membership.team_id:
        keep_captained(session, session.get_one(Team, membership.team_id))
        ask_again(session, membership.team_id)
    competition = session.get_one(Competition, membership.competition_id)
    told = {
        MemberStatus.APPROVED: f"{competition.title}: You are in",
        MemberStatus.BANNED: f"{competition.title}: You were banned",
        MemberStatus.REJECTED: f"{competition.title}: Your registration was declined",
    }
    notify(
        session,
        [membership.user_id],
        kind="membership",
        title=told[status],
        body=reason,
        url=f"/competitions/{competition.slug}",
    )
    return before


BAN_REASON = "banned: "


def _follow_ban(session: Session, membership: Membership, *, banned: bool, reason: str) -> None:
    """Take the person's submissions off the boards, or bring back those that the ban took off."""
    query = select(Submission).where(
        Submission.competition_id == membership.competition_id, Submission.user_id == membership.user_id
    )
    for submission in session.scalars(query):
        reason_now = standing_of(submission).disqualified
        if banned and reason_now is None:
            submission.disqualified_at, submission.disqualified_reason = now(), BAN_REASON + reason
        elif not banned and (reason_now or "").startswith(BAN_REASON):
            submission.disqualified_at, submission.disqualified_reason = None, ""
        else:
            continue
        session.flush()
        refresh_boards(session, submission)


def note(session: Session, membership: Membership, text: str, actor_id: str, version: str | None) -> None:
    """Keep a note that only organizers see; `version` and `Stale` are as in `changes_upon`."""
    before = {"note": membership.notes}
    if changes_upon(session, ("member", membership.id), version, {"note": text}, before):
        membership.notes = text
        record_member(session, membership, actor_id, "member.note", after={"note": "changed"})


def set_role(session: Session, membership: Membership, role: Role) -> None:
    """Give a role; teams with somebody who is not a participant are out of the ranking."""
    membership.role = role
    session.flush()
    if membership.team_id:
        team = session.get_one(Team, membership.team_id)
        rank_or_not(
            session, team, out=role != Role.PARTICIPANT or (team.out_of_ranking and stays_out(session, team))
        )


def count_pending(session: Session, competition: Competition) -> int:
    """How many people wait to be admitted."""
    query = select(func.count(Membership.id)).where(
        Membership.competition_id == competition.id, Membership.status == MemberStatus.PENDING
    )
    return session.scalar(query) or 0


def find_user(session: Session, name: str) -> User:
    """A user of this site by name; raises `Invalid`."""
    if "@" in name:  # the answer would tell whose address it is
        raise Invalid("Invite people by user name: addresses are not looked up.", field="username")
    user = find_by_name(session, name)
    if user is None:
        raise Invalid(f"There is no user “{name}”.", field="username")
    return user


def address_of(access: CompetitionAccess, membership: Membership, user: User) -> str | None:
    """The e-mail address, for organizers, of people who came by themselves or accepted."""
    may_see = access.may(Role.ORGANIZER) and membership.status not in NOT_HERE
    return user.email if may_see else None


def take_in(session: Session, competition: Competition, user: User, role: Role) -> Membership:
    """Make an existing user a member with a role, whatever they were before."""
    known = find_membership(session, competition.id, user.id)
    if known is None or known.team_id is None:
        return add_member(session, competition, user, role)
    if known.status != MemberStatus.APPROVED:
        set_status(session, known, MemberStatus.APPROVED)
    set_role(session, known, role)
    return known


def find_team(session: Session, competition: Competition, team_id: str) -> Team:
    """A team of this competition, by its id or name; raises `NotFound`."""
    team = session.get(Team, team_id) or team_named(session, competition, team_id)
    if team is None or team.competition_id != competition.id:
        raise NotFound("There is no such team.")
    return team


def team_named(session: Session, competition: Competition, name: str) -> Team | None:
    """The team that stands on the boards under a name."""
    query = select(Team).where(
        Team.competition_id == competition.id,
        Team.name_key == name_key(name.strip()),
        Team.deleted_at.is_(None),
    )
    return session.scalars(query).one_or_none()


def team_fields(team: Team) -> dict[str, Any]:
    """What organizers change of a team beside its members."""
    return {
        "day": team.extra_quota_day,
        "phase": team.extra_quota_phase,
        "out_of_ranking": team.out_of_ranking,
    }


def change_team(
    session: Session, team: Team, sent: Mapping[str, Any], reason: str, actor_id: str, version: str | None
) -> None:
    """Give a team more (or less) quota than others, or take it out of the ranking, as `team_fields` names it.

    `version` and `Stale` are as in `changes_upon`.
    """
    before = team_fields(team)
    wanted = {**before, **changes_upon(session, ("team", team.id), version, sent, before)}
    team.extra_quota_day, team.extra_quota_phase = wanted["day"], wanted["phase"]
    rank_or_not(session, team, out=wanted["out_of_ranking"])
    after = {name: value for name, value in team_fields(team).items() if value != before[name]}
    if not after:
        return
    audit.record(
        session,
        actor_id=actor_id,
        action="team.change",
        object_type="team",
        object_id=team.id,
        competition_id=team.competition_id,
        reason=reason,
        before={name: before[name] for name in after},
        after=after,
    )


def record_member(
    session: Session, membership: Membership, actor_id: str, action: str, **details: Any
) -> None:
    """Note in the competition's log what was done to a member."""
    audit.record(
        session,
        actor_id=actor_id,
        action=action,
        object_type="member",
        object_id=membership.id,
        competition_id=membership.competition_id,
        **details,
    )
