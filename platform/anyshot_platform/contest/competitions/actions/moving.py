"""The act of moving a member to another team, or to one of their own."""

from collections.abc import Iterator

from pydantic import Field
from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import (
    Act,
    ActDone,
    ActOptions,
    ActRequest,
    Danger,
    Findings,
    by_name,
)
from anyshot_platform.contest.competitions.actions import member_acts, people
from anyshot_platform.contest.competitions.actions.member_acts import member_target
from anyshot_platform.contest.competitions.messages import tell_team
from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.filters import count, join_texts
from anyshot_platform.judging.submissions.counting import count_uploads
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.phases import published_results
from anyshot_platform.people.notifications.service import notify
from anyshot_platform.people.teams.actions.joining import go, is_full, list_members
from anyshot_platform.people.teams.actions.ranking import stays_out
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_platform.standings.entries.actions.acts import ask_again, leagues_that_ask


class Destination(ActOptions):
    """The name of the team to move to; empty for a team of their own."""

    team: str = Field(default="", max_length=200)


def find_team_named(session: Session, competition: Competition, name: str) -> Team | None:
    """The team of that name, or None for an empty one: a team of the member's own. Raises `Invalid`."""
    if not name.strip():
        return None
    team = people.team_named(session, competition, name)
    if team is None:
        raise Invalid(
            f"There is no team “{name.strip()}”. Leave it empty for a team of their own.",
            field="team",
        )
    return team


def _look(session: Session, membership: Membership, request: ActRequest[Destination]) -> Findings:
    competition = session.get_one(Competition, membership.competition_id)
    target = find_team_named(session, competition, request.options.team)
    old = session.get(Team, membership.team_id) if membership.team_id else None
    if old is None or not _may_go(membership, target):
        return Findings(refused=["Only participants are in teams. Admit this person first."])
    if target is not None and target.id == old.id:
        return Findings(done=f"This person is in “{old.name}” already.")
    alone = len(list_members(session, old)) < 2
    if target is None and alone:
        return Findings(done="This person has a team of their own already.")
    takes_part = membership.status == MemberStatus.APPROVED
    full = target is not None and is_full(session, competition, target)
    teams = [old, target] if target is not None else [old]
    return Findings(
        blocked=[f"Teams have at most {count(competition.team_size, 'member')} here."] if full else [],
        warnings=_published(session, competition),
        does=[
            _goes(target),
            *([] if takes_part else ["The person still takes no part."]),
            *_stays(session, old, alone),
            *_asked(session, target),
            *_ranking(session, membership, None if alone else old, target),
        ],
        told=sum(len(list_members(session, team)) for team in teams),
        asks=count_uploads(session, Submission.team_id == old.id) > 0,
    )


def _may_go(membership: Membership, target: Team | None) -> bool:
    """Participants go to any team; who was banned or rejected leaves theirs for one of their own alone."""
    put_out = membership.status in (MemberStatus.BANNED, MemberStatus.REJECTED)
    return membership.status == MemberStatus.APPROVED or (put_out and target is None)


def _goes(target: Team | None) -> str:
    if target is None:
        return "The person gets a team of their own, with a quota of its own."
    return f"The person shares the quota and the entries of “{target.name}” from now on."


def _stays(session: Session, old: Team, alone: bool) -> list[str]:
    """What becomes of the team that is left, and of what it submitted."""
    uploads = count_uploads(session, Submission.team_id == old.id)
    has = count(uploads, "submission")
    if alone:
        gone = f"“{old.name}” has nobody left and is dissolved."
        return [join_texts((gone, f"Its entries leave the boards ({has})." if uploads else ""))]
    return [f"What “{old.name}” submitted stays its own: {has}."] if uploads else []


def _asked(session: Session, target: Team | None) -> list[str]:
    if target is None:
        return []
    return [
        f"The league {league.name} asks this person for what “{target.name}” hands in from now on; "
        "what it handed in before stands."
        for league in leagues_that_ask(session, target)
    ]


def _ranking(
    session: Session, membership: Membership, old: Team | None, target: Team | None
) -> Iterator[str]:
    """What becomes of the ranking of both teams; `old` is None where it is dissolved."""
    if membership.role == Role.PARTICIPANT:
        return
    if target is not None and not target.out_of_ranking:
        yield f"Organizers do not compete: “{target.name}” leaves the ranking."
    if old is not None and old.out_of_ranking and not stays_out(session, old, without=membership):
        yield f"The team {old.name} joins the ranking."


def _published(session: Session, competition: Competition) -> list[str]:
    return [
        (
            f"The results of “{phase.name}” are public; prize shares and certificates name a team's "
            "members of now."
        )
        for phase in published_results(session, competition)
    ]


def _move(session: Session, membership: Membership, request: ActRequest[Destination]) -> ActDone:
    old = session.get_one(Team, membership.team_id)
    competition = session.get_one(Competition, membership.competition_id)
    team = go(session, membership, find_team_named(session, competition, request.options.team))
    for one in (old, team):
        ask_again(session, one.id)
    _tell(session, membership, old, team, request.reason)
    return ActDone(f"Moved to “{team.name}”.", {"team": old.name}, {"team": team.name})


def _tell(session: Session, membership: Membership, old: Team, team: Team, reason: str) -> None:
    name = session.get_one(User, membership.user_id).username
    competition = session.get_one(Competition, membership.competition_id)
    about = {"kind": "membership", "body": reason, "url": f"/competitions/{competition.slug}/team"}
    notify(
        session,
        [membership.user_id],
        title=f"{competition.title}: the organizers moved you from “{old.name}” to “{team.name}”",
        **about,
    )
    others = [user.id for _, user in list_members(session, team) if user.id != membership.user_id]
    notify(
        session,
        others,
        title=f"{competition.title}: the organizers moved {name} to your team",
        **about,
    )
    tell_team(
        session,
        old.id,
        title=f"{competition.title}: the organizers moved {name} out of your team",
        **about,
    )


MOVE = Act(
    "member.move",
    "Move {} to another team",
    member_target,
    _look,
    _move,
    "Move the person back. A team that was dissolved comes back with its entries when its last member gets a team of "
    "their own.",
    "Reason (both teams see it)",
    danger=Danger.NAME,
    options=Destination,
)
ACTS = by_name(member_acts.APPROVE, member_acts.REJECT, member_acts.BAN, member_acts.ROLE, MOVE)
MANY = by_name(member_acts.APPROVE, member_acts.REJECT, member_acts.BAN)
UNDO = {"approve": "reject", "reject": "approve", "ban": "approve"}
