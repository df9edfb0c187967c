"""Code that organizers have published: the winners', after the final phase."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.competitions.models import Competition
from anyshot_platform.errors import NotFound
from anyshot_platform.phases.models import Phase
from anyshot_platform.submissions.models import Submission
from anyshot_platform.teams.models import Team


@dataclass(frozen=True)
class PublishedCode:
    """A submission whose zip everybody may download who may know of the competition."""

    submission: Submission
    phase: Phase
    team: str


def list_published(session: Session, competition: Competition) -> list[PublishedCode]:
    """The published code, best score of each phase first."""
    rows = session.execute(
        select(Submission, Phase, Team.name)
        .join(Phase, Phase.id == Submission.phase_id)
        .join(Team, Team.id == Submission.team_id)
        .where(
            Submission.competition_id == competition.id,
            Submission.code_published_at.is_not(None),
            Submission.deleted_at.is_(None),
            Phase.deleted_at.is_(None),
            Phase.published_at.is_not(None),
        )
        .order_by(Phase.position, Submission.score.desc(), Submission.created_at)
    )
    return [PublishedCode(submission, phase, team) for submission, phase, team in rows]


def find_published(session: Session, competition: Competition, submission_id: str) -> PublishedCode:
    """One of them; raises `NotFound`."""
    for found in list_published(session, competition):
        if found.submission.id == submission_id:
            return found
    raise NotFound("There is no such published code.")
