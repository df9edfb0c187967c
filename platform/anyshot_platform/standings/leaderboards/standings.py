"""Where a team stands on the boards that a viewer may see, whatever page asks."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.service import list_phases
from anyshot_platform.foundation.numbers import HalfWidth
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind, SubmissionStatus
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.visibility.phases import publication_of
from anyshot_platform.judging.visibility.standing import counting
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.leaderboards.frozen_board import shown_since
from anyshot_platform.standings.leaderboards.models import BoardRow
from anyshot_platform.standings.leaderboards.reading import count_ranked, count_ranks


@dataclass(frozen=True)
class TeamStanding:
    """A team's row on a leaderboard; `rank` is null where it is out of the ranking."""

    phase: Annotated[str, Field(description="the phase's short name")]
    phase_name: Annotated[str, Field(exclude=True)]
    league: Annotated[str, Field(description="the league's short name")]
    league_name: Annotated[str, Field(exclude=True)]
    rank: int | None
    ranked: Annotated[int | None, Field(description="how many rows have a rank")]
    score: float
    half_width: HalfWidth
    submitted_at: datetime
    entries: Annotated[int, Field(description="the team's scored submissions to the phase")]


def read_standings(session: Session, access: CompetitionAccess, team: Team) -> list[TeamStanding]:
    """The team's rows on the boards of the competition that the viewer may see, the newest phase first."""
    shown = [
        phase for phase in list_phases(session, access.competition) if not access.sight_of(phase).board_hidden
    ]
    if not shown:
        return []
    rows = session.execute(
        select(Phase, PhaseVersion, League, BoardRow)
        .join(PhaseVersion, PhaseVersion.id == BoardRow.phase_version_id)
        .join(Phase, (Phase.id == PhaseVersion.phase_id) & (Phase.live_version == PhaseVersion.number))
        .join(League, League.id == BoardRow.league_id)
        .where(
            BoardRow.row_key == team.id,
            Phase.id.in_([phase.id for phase in shown]),
            League.deleted_at.is_(None),
        )
        .order_by(Phase.position.desc(), League.position)
    ).all()
    return [_standing(session, team, *row) for row in rows]


def _standing(
    session: Session, team: Team, phase: Phase, version: PhaseVersion, league: League, row: BoardRow
) -> TeamStanding:
    rank = count_ranks(session, [row.id]).get(row.id)
    return TeamStanding(
        phase=phase.slug,
        phase_name=phase.name,
        league=league.slug,
        league_name=league.name,
        rank=rank,
        ranked=None if rank is None else count_ranked(session, version, league),
        score=row.value,
        half_width=row.half_width,
        submitted_at=row.submitted_at,
        entries=_entries(session, team, phase, version),
    )


def _entries(session: Session, team: Team, phase: Phase, version: PhaseVersion) -> int:
    """The scored submissions that stand, on a frozen board those from before."""
    scored = select(func.count()).where(
        Submission.team_id == team.id,
        Submission.phase_id == phase.id,
        Submission.kind == SubmissionKind.ENTRY,
        Submission.status == SubmissionStatus.FINISHED,
        counting(),
    )
    frozen = publication_of(phase).frozen
    if frozen is not None:
        scored = scored.where(Submission.finished_at <= shown_since(version, frozen))
    return session.scalar(scored) or 0
