"""Which teams are out of the ranking: those that organizers took out, and those with somebody who does not compete."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.judging.submissions.actions.submitting import refresh_boards
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.audit.service import select_entries
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.leaderboards.service import note_team

NOT_HERE = (MemberStatus.INVITED, MemberStatus.WITHDRAWN)


def stays_out(session: Session, team: Team, without: Membership | None = None) -> bool:
    """Whether a team is to be out of the ranking, as it is or without one of its members.

    It is where organizers took it out by hand, and where somebody in it is not a participant.
    """
    mine = (Membership.team_id == team.id, Membership.status.not_in(NOT_HERE))
    query = select(Membership.id).where(*mine, Membership.role != Role.PARTICIPANT)
    if without is not None:
        query = query.where(Membership.id != without.id)
    return _taken_out(session, team) or session.scalar(query.limit(1)) is not None


def _taken_out(session: Session, team: Team) -> bool:
    """What organizers last decided of the team by hand: the log alone tells it from what follows from its members."""
    changes = select_entries(action="team.change", object_type="team", object_id=team.id)
    decided = (entry.after.get("out_of_ranking") for entry in session.scalars(changes))
    return next((out for out in decided if out is not None), False)


def rank_or_not(session: Session, team: Team, *, out: bool) -> None:
    """Take a team out of the ranking, or let it join; its rows follow."""
    moved, team.out_of_ranking = team.out_of_ranking != out, out
    session.flush()
    if moved:
        _show_anew(session, team)


def _show_anew(session: Session, team: Team) -> None:
    """Bring the boards in line with who is in the ranking."""
    for submission in session.scalars(select(Submission).where(Submission.team_id == team.id)):
        refresh_boards(session, submission)
    note_team(session, team.id)
