"""Code that organizers have published: the winners', after the final phase."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.code import code_is_public
from anyshot_platform.judging.visibility.phases import look_at_phase
from anyshot_platform.people.teams.models import Team


@dataclass(frozen=True)
class PublishedCode:
    """A submission whose zip everybody may download who may know of the competition."""

    submission: Submission
    phase: Phase
    team: str
    score: float | None  # this and the next where the viewer may see the phase's board
    half_width: float | None


def list_published(
    session: Session, competition: Competition, role: Role | None = None
) -> list[PublishedCode]:
    """The published code, best score of each phase first where the viewer sees it, else the earliest."""
    rows = session.execute(
        select(Submission, Phase, Team.name)
        .join(Phase, Phase.id == Submission.phase_id)
        .join(Team, Team.id == Submission.team_id)
        .where(Submission.competition_id == competition.id, code_is_public())
        .order_by(Phase.position, Submission.created_at)
    )
    shown = [_show(submission, phase, team, role) for submission, phase, team in rows]
    return sorted(
        shown, key=lambda one: (one.phase.position, -(one.score or 0.0))
    )  # hidden scores order nothing


def _show(submission: Submission, phase: Phase, team: str, role: Role | None) -> PublishedCode:
    sight = look_at_phase(phase, role)
    if sight.board_hidden or not sight.scores:
        return PublishedCode(submission, phase, team, None, None)
    return PublishedCode(submission, phase, team, submission.score, submission.half_width)


def find_published(session: Session, competition: Competition, submission_id: str) -> PublishedCode:
    """One of them; raises `NotFound`."""
    for found in list_published(session, competition):
        if found.submission.id == submission_id:
            return found
    raise NotFound("There is no such published code.")
