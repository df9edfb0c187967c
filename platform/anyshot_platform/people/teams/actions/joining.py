"""How teams come together: invitations, answers, leaving, names."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.contest.competitions.teams import (
    check_team_name,
    dissolve,
    keep_captained,
    make_solo_team,
    members_here,
    name_is_free,
)
from anyshot_platform.foundation.database import hold, now
from anyshot_platform.foundation.errors import Conflict, Forbidden, Invalid, NotFound
from anyshot_platform.foundation.texts import name_key
from anyshot_platform.judging.submissions.counting import count_uploads
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.accounts.service import find_by_name
from anyshot_platform.people.audit import service as audit
from anyshot_platform.people.notifications.service import notify
from anyshot_platform.people.teams.actions.ranking import rank_or_not, stays_out
from anyshot_platform.people.teams.models import Team, TeamInvitation
from anyshot_platform.people.users.models import User
from anyshot_platform.standings.entries.actions.acts import ask_again
from anyshot_platform.standings.leaderboards.service import note_team


class TeamSettled(Conflict):
    """What the team did already forbids the change."""

    code = "team_settled"


@dataclass(frozen=True)
class ReceivedInvitation:
    """An invitation that waits for an answer."""

    id: str
    team: str
    user: str


def list_members(session: Session, team: Team) -> list[tuple[Membership, User]]:
    """The members of a team, the captain first."""
    rows = session.execute(
        select(Membership, User)
        .join(User, User.id == Membership.user_id)
        .where(Membership.team_id == team.id, Membership.status != MemberStatus.WITHDRAWN)
        .order_by(Membership.created_at)
    )
    return sorted(((m, user) for m, user in rows), key=lambda pair: pair[1].id != team.captain_id)


def open_invitations(
    session: Session, *, team_id: str | None = None, user_id: str | None = None, competition_id: str
) -> Sequence[ReceivedInvitation]:
    """Unanswered invitations of a team, or to a user."""
    query = (
        select(TeamInvitation.id, Team.name, User.username)
        .join(Team, Team.id == TeamInvitation.team_id)
        .join(User, User.id == TeamInvitation.user_id)
        .where(
            TeamInvitation.answered_at.is_(None),
            Team.competition_id == competition_id,
            Team.deleted_at.is_(None),
        )
    )
    if team_id is not None:
        query = query.where(TeamInvitation.team_id == team_id)
    if user_id is not None:
        query = query.where(TeamInvitation.user_id == user_id)
    return [ReceivedInvitation(*row) for row in session.execute(query.order_by(TeamInvitation.created_at))]


def has_submitted(session: Session, team_id: str) -> bool:
    """Whether the team has handed in what is scored: a smoke test uses no quota and binds nobody."""
    return count_uploads(session, Submission.team_id == team_id) > 0


def may_have_name(session: Session, team: Team, name: str) -> bool:
    """Whether a name is the team's own, written otherwise, or nobody's."""
    return name_key(name) == team.name_key or name_is_free(session, team.competition_id, name)


def give_name(session: Session, team: Team, name: str) -> None:
    """Call the team so, on its boards too."""
    team.name, team.name_key = name, name_key(name)
    note_team(session, team.id)


def rename(session: Session, team: Team, name: str, by: str) -> None:
    """Change the name on the board, as its captain, as long as nothing was handed in under it."""
    if team.captain_id != by:
        raise Forbidden("Only the captain changes the team's name.")
    name = check_team_name(name)
    if name == team.name:
        return
    if has_submitted(session, team.id):
        raise TeamSettled(
            "A team that has submitted keeps its name; the organizers can change it.", field="name"
        )
    if not may_have_name(session, team, name):
        raise Conflict("Another team has this name.", field="name")
    before = team.name
    give_name(session, team, name)
    audit.record(
        session,
        actor_id=by,
        action="team.rename",
        object_type="team",
        object_id=team.id,
        competition_id=team.competition_id,
        before={"name": before},
        after={"name": name},
    )


def invite(session: Session, competition: Competition, team: Team, by: str, name: str) -> None:
    """Ask a participant to join the team."""
    if team.captain_id != by:
        raise Forbidden("Only the captain invites.")
    user = find_by_name(session, name)  # an address would tell whose it is
    membership = _participant(session, competition, user.id) if user else None
    if user is None or membership is None:
        raise Invalid(
            "No participant of this competition has that name. Ask them to join it first.",
            field="username",
        )
    if membership.team_id == team.id:
        raise Conflict(f"{user.username} is in the team already.", field="username")
    if membership.team_id and has_submitted(session, membership.team_id):
        raise TeamSettled(
            (f"{user.username} has submitted already and cannot change teams. The organizers can move them."),
            field="username",
        )
    _require_room(session, competition, team)
    known = session.scalars(
        select(TeamInvitation).where(TeamInvitation.team_id == team.id, TeamInvitation.user_id == user.id)
    ).one_or_none()
    if known is None:
        known = TeamInvitation(team_id=team.id, user_id=user.id)
        session.add(known)
    known.answered_at = known.accepted = None
    session.flush()
    notify(
        session,
        [user.id],
        kind="membership",
        title=f"“{team.name}” invites you to their team in {competition.title}",
        url=f"/competitions/{competition.slug}/team",
    )


def answer(
    session: Session, competition: Competition, user_id: str, invitation_id: str, *, accept: bool
) -> None:
    """Accept or decline; accepting leaves the present team, which must not have submitted."""
    hold(session, f"competition {competition.id}")  # of several who want the last seat, one gets it
    invitation = session.get(TeamInvitation, invitation_id)
    team = session.get(Team, invitation.team_id) if invitation else None
    ours = invitation is not None and invitation.user_id == user_id and invitation.answered_at is None
    here = team is not None and team.competition_id == competition.id and team.deleted_at is None
    if invitation is None or team is None or not ours or not here:
        raise NotFound("There is no such invitation.")
    if accept:
        membership = _participant(session, competition, user_id)
        if membership is None:
            raise Forbidden("Join the competition first.")
        _require_room(session, competition, team)
        if membership.role != Role.PARTICIPANT and not team.out_of_ranking:
            raise Forbidden("Organizers do not compete: with you the team would be out of the ranking.")
        _require_unsettled(session, membership)
        go(session, membership, team)
        ask_again(session, team.id)
        if team.captain_id:
            notify(
                session,
                [team.captain_id],
                kind="membership",
                title=f"Your invitation to “{team.name}” was accepted",
                url=f"/competitions/{competition.slug}/team",
            )
    invitation.answered_at, invitation.accepted = now(), accept
    session.flush()


def withdraw_invitation(session: Session, team: Team, by: str, invitation_id: str) -> None:
    """Take an invitation back."""
    invitation = session.get(TeamInvitation, invitation_id)
    if invitation is None or invitation.team_id != team.id or team.captain_id != by:
        raise NotFound("There is no such invitation.")
    session.delete(invitation)


def leave(session: Session, competition: Competition, user: User) -> None:
    """Leave the team for one of one's own. What it handed in stays the team's, and so does its quota."""
    hold(session, f"competition {competition.id}")  # of the last two who leave at once, one stays
    membership = _participant(session, competition, user.id)
    team = session.get(Team, membership.team_id) if membership and membership.team_id else None
    if membership is None or team is None or len(list_members(session, team)) < 2:
        raise Conflict("You are the only member of your team.")
    if has_submitted(session, team.id):
        raise TeamSettled(
            "Your team has submitted. Leaving now would give you a second quota: ask the "
            "organizers to move you."
        )
    go(session, membership, None)
    ask_again(session, team.id)


def _require_unsettled(session: Session, membership: Membership) -> None:
    if membership.team_id and has_submitted(session, membership.team_id):
        raise TeamSettled("You have submitted in your present team. Ask the organizers to move you.")


def go(session: Session, membership: Membership, team: Team | None) -> Team:
    """Take a member to another team, or to one of their own; returns it.

    The team that they leave gets another captain, or is dissolved where nobody is left. What it handed in stays its
    own, and so does its quota. Who is not a participant takes the new team out of the ranking; the old one joins it
    where nobody and nothing else keeps it out.
    """
    go_out(session, membership)
    if team is None:
        team = make_solo_team(session, membership, session.get_one(User, membership.user_id))
        rank_or_not(session, team, out=stays_out(session, team))
    else:
        membership.team_id = team.id
    session.flush()
    if membership.role != Role.PARTICIPANT:
        rank_or_not(session, team, out=True)
    return team


def go_out(session: Session, membership: Membership) -> Team | None:
    """Take a member out of their team; returns it, or None where nobody is left and it is dissolved.

    It gets another captain where it needs one, and joins the ranking where nothing else keeps it out.
    """
    old = session.get(Team, membership.team_id) if membership.team_id else None
    membership.team_id = None
    session.flush()
    if old is None:
        return None
    rest = list_members(session, old)
    if not rest:
        dissolve(session, old, submitted=has_submitted(session, old.id))
        return None
    keep_captained(session, old)
    if membership.role != Role.PARTICIPANT and old.out_of_ranking:
        rank_or_not(session, old, out=stays_out(session, old))
    return old


def _participant(session: Session, competition: Competition, user_id: str) -> Membership | None:
    return session.scalars(
        select(Membership).where(
            Membership.competition_id == competition.id,
            Membership.user_id == user_id,
            Membership.status == MemberStatus.APPROVED,
        )
    ).one_or_none()


def is_full(session: Session, competition: Competition, team: Team) -> bool:
    """Whether as many take part in a team as the competition allows."""
    return len(members_here(session, team)) >= competition.team_size


def _require_room(session: Session, competition: Competition, team: Team) -> None:
    if is_full(session, competition, team):
        raise Conflict(
            f"Teams have at most {competition.team_size} members.",
            field="username",
        )
