"""Acts on people: admitting, rejecting and banning them, giving them roles."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import (
    PERSON_READS,
    Act,
    ActDone,
    ActOptions,
    ActRequest,
    Danger,
    Findings,
    Target,
)
from anyshot_platform.contest.competitions.actions import people
from anyshot_platform.contest.competitions.actions.invitations import offer
from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.service import count_owners, find_membership
from anyshot_platform.contest.competitions.states import CompetitionState, MemberStatus, Role
from anyshot_platform.contest.phases.status_words import status_words
from anyshot_platform.foundation.filters import count, decimal
from anyshot_platform.judging.submissions.counting import count_uploads
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.teams.actions.joining import is_full
from anyshot_platform.people.teams.actions.ranking import NOT_HERE, stays_out
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User

ARCHIVED = "The competition is archived: publish it again before you decide on people."
_POWERS = {
    Role.OWNER: (
        "do everything here, see the hidden data and take the secret keys, and give roles to others"
    ),
    Role.ORGANIZER: "change the competition, see every submission with its code, and the hidden data",
    Role.REVIEWER: "see every submission with its code",
    Role.PARTICIPANT: "take part",
}
_ORDER = list(_POWERS)


@dataclass(frozen=True)
class Invitation:
    """Somebody who is to become a member."""

    competition: Competition
    user: User


class RoleChoice(ActOptions):
    """Which role; one that may more than before is confirmed by the person's name."""

    role: Role


def member_target(session: Session, membership: Membership) -> Target:
    """A member, by user name."""
    name = session.get_one(User, membership.user_id).username
    return Target("member", membership.id, name, name, (membership.competition_id,))


def _uploads(session: Session, membership: Membership) -> int:
    theirs = Submission.user_id == membership.user_id
    return count_uploads(session, Submission.competition_id == membership.competition_id, theirs)


def _archived(session: Session, membership: Membership) -> list[str]:
    """That nothing changes any more in who takes part."""
    state = session.get_one(Competition, membership.competition_id).state
    return [ARCHIVED] if state == CompetitionState.ARCHIVED else []


def _look_approve(session: Session, membership: Membership, request: ActRequest) -> Findings:
    if membership.status == MemberStatus.APPROVED:
        return Findings(done="This person is a participant already.")
    if membership.status in NOT_HERE:
        words = "This person has left or has not answered yet. Invite them: only they can accept."
        return Findings(refused=[words])
    lifted = ["The submissions that the ban took off the boards come back."]
    return Findings(
        refused=_archived(session, membership),
        blocked=_crowds(session, membership),
        does=[
            "The person is a participant.",
            *(lifted if membership.status == MemberStatus.BANNED else []),
        ],
        told=1,
    )


def _crowds(session: Session, membership: Membership) -> list[str]:
    """That the team took somebody else in while the person was away."""
    team = session.get(Team, membership.team_id) if membership.team_id else None
    competition = session.get_one(Competition, membership.competition_id)
    if team is None or not is_full(session, competition, team):
        return []
    return [f"The team “{team.name}” is full without this person."]


def _approve(session: Session, membership: Membership, request: ActRequest) -> ActDone:
    return _moved(session, membership, MemberStatus.APPROVED, request, "Approved.")


def _look_reject(session: Session, membership: Membership, request: ActRequest) -> Findings:
    if membership.status == MemberStatus.REJECTED:
        return Findings(done="This person is rejected already.")
    if membership.role != Role.PARTICIPANT:
        return Findings(
            refused=["Only participants are rejected. Give this person the role participant first."]
        )
    uploads = _uploads(session, membership)
    return Findings(
        refused=_archived(session, membership),
        blocked=[f"This person is a participant, with {count(uploads, 'submission')}. Ban them instead."]
        if uploads
        else [],
        does=["The person is not a participant."],
        told=1,
    )


def _reject(session: Session, membership: Membership, request: ActRequest) -> ActDone:
    return _moved(session, membership, MemberStatus.REJECTED, request, "Rejected.")


def _look_ban(session: Session, membership: Membership, request: ActRequest) -> Findings:
    if membership.status == MemberStatus.BANNED:
        return Findings(done="This person is banned already.")
    if membership.role == Role.OWNER:
        return Findings(refused=["An owner cannot be banned."])
    uploads = _uploads(session, membership)
    return Findings(
        refused=_archived(session, membership),
        warnings=[] if request.reason else ["No reason is given; the person is told the reason."],
        does=[
            "The person can upload nothing any more.",
            *(
                [
                    (
                        "1 submission of this person is disqualified and leaves the boards."
                        if uploads == 1
                        else (
                            f"{decimal(uploads)} submissions of this person are disqualified and leave the "
                            "boards."
                        )
                    )
                ]
                if uploads
                else []
            ),
        ],
        told=1,
        asks=uploads > 0,
    )


def _ban(session: Session, membership: Membership, request: ActRequest) -> ActDone:
    words = "Banned; “Lift the ban” undoes it."
    return _moved(session, membership, MemberStatus.BANNED, request, words)


def _moved(
    session: Session, membership: Membership, status: MemberStatus, request: ActRequest, words: str
) -> ActDone:
    before = people.set_status(session, membership, status, request.reason)
    return ActDone(words, {"status": before.value}, {"status": status.value})


def _look_role(session: Session, membership: Membership, request: ActRequest[RoleChoice]) -> Findings:
    role = request.options.role
    if membership.role == role:
        return Findings(done=f"This person is {status_words(role.value)} already.")
    last = membership.role == Role.OWNER and count_owners(session, membership.competition_id) < 2
    return Findings(
        refused=["A competition needs an owner: name another one first."] if last else [],
        does=[f"The person can {_POWERS[role]}.", *_ranking(session, membership, role)],
        asks=_ORDER.index(role) < _ORDER.index(membership.role),
    )


def _ranking(session: Session, membership: Membership, role: Role) -> list[str]:
    """What a role means for the team of somebody who takes part."""
    team = session.get(Team, membership.team_id) if membership.team_id else None
    if team is None or team.out_of_ranking == (role != Role.PARTICIPANT):
        return []
    if role != Role.PARTICIPANT:
        return [f"The team {team.name} leaves the ranking."]
    if stays_out(session, team, without=membership):
        return [f"The team {team.name} stays out of the ranking."]
    return [f"The team {team.name} joins the ranking."]


def _give_role(session: Session, membership: Membership, request: ActRequest[RoleChoice]) -> ActDone:
    before, role = membership.role, request.options.role
    people.set_role(session, membership, role)
    return ActDone("The role is given.", {"role": before.value}, {"role": role.value})


def _invited(session: Session, invitation: Invitation) -> Target:
    name = invitation.user.username
    return Target("user", invitation.user.id, name, name, (invitation.competition.id,))


def _look_invite(session: Session, invitation: Invitation, request: ActRequest[RoleChoice]) -> Findings:
    role = request.options.role
    known = find_membership(session, invitation.competition.id, invitation.user.id)
    if known is not None and known.status == MemberStatus.APPROVED:
        if known.role == role:
            return Findings(done=f"{invitation.user.username} is {status_words(role.value)} already.")
        if known.role == Role.OWNER:
            return Findings(refused=[f"{invitation.user.username} is an owner already."])
    if known is not None and known.status == MemberStatus.BANNED:
        return Findings(refused=[f"{invitation.user.username} is banned; lift the ban first."])
    return Findings(
        does=[
            f"The person can {_POWERS[role]}.",
            *(_ranking(session, known, role) if known else []),
        ],
        asks=role != Role.PARTICIPANT,
        told=1,
    )


def _invite(session: Session, invitation: Invitation, request: ActRequest[RoleChoice]) -> ActDone:
    role = request.options.role
    membership = offer(session, invitation.competition, invitation.user, role)
    waits = membership.status == MemberStatus.INVITED
    words = "Invited: the person becomes a participant by accepting." if waits else "The role is given."
    after = {"role": role.value, "status": membership.status.value}
    return ActDone(words, after=after, result=membership)


APPROVE = Act(
    "member.approve",
    "Approve {}",
    member_target,
    _look_approve,
    _approve,
    "Ban them.",
    PERSON_READS,
    danger=Danger.NONE,
)
REJECT = Act(
    "member.reject",
    "Reject {}",
    member_target,
    _look_reject,
    _reject,
    "Approve them.",
    PERSON_READS,
    danger=Danger.PROOF,
)
BAN = Act(
    "member.ban",
    "Ban {}",
    member_target,
    _look_ban,
    _ban,
    "Lift the ban.",
    PERSON_READS,
    danger=Danger.NAME,
)
ROLE = Act(
    "member.role",
    "Change the role of {}",
    member_target,
    _look_role,
    _give_role,
    "Give them their role back; what they saw they know.",
    danger=Danger.NAME,
    role=Role.OWNER,
    options=RoleChoice,
)
INVITE = Act(
    "member.add",
    "Invite {}",
    _invited,
    _look_invite,
    _invite,
    "Give them the role participant, or ban them.",
    danger=Danger.NAME,
    role=Role.OWNER,
    options=RoleChoice,
)
