"""Whose code is public: the winners' whose publication stands, unless the organizers hid that of their team."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.phases import look_at_phase
from anyshot_platform.judging.visibility.standing import counting
from anyshot_platform.people.teams.models import Team


@dataclass(frozen=True)
class PublishedCode:
    """A submission whose zip everybody may download who may know of the competition."""

    submission: Submission
    phase: Phase
    team: str
    score: float | None  # this and the next where the viewer may see the phase's board
    half_width: float | None


def code_is_published() -> ColumnElement[bool]:
    """Submissions that were published as winners' code and still stand, be it that their team's is hidden."""
    return and_(
        Submission.code_published_at.is_not(None),
        Phase.published_at.is_not(None),
        Phase.deleted_at.is_(None),
        counting(),
    )


def code_is_public() -> ColumnElement[bool]:
    """Submissions whose zip everybody may have; the query joins their phase."""
    hidden = select(Team.id).where(Team.code_hidden_at.is_not(None))
    return and_(code_is_published(), Submission.team_id.not_in(hidden))


def with_public_code(session: Session, submissions: Sequence[Submission]) -> list[Submission]:
    """Those of them whose zip everybody may have, in their order."""
    session.flush()
    ids = [submission.id for submission in submissions]
    query = select(Submission.id).join(Phase, Phase.id == Submission.phase_id)
    public = set(session.scalars(query.where(Submission.id.in_(ids), code_is_public())))
    return [submission for submission in submissions if submission.id in public]


def hides_code(team: Team) -> bool:
    """Whether the organizers hid the code of a team, published or not."""
    return team.code_hidden_at is not None


def has_code_page(competition: Competition) -> bool:
    """Whether the competition has a page of published code."""
    return competition.code_published_at is not None


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
