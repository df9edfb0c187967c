"""What a board shows below its line: late submissions, where the organizers want it. They have no rank and no row."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.leagues.models import League, LeagueEntry
from anyshot_platform.contest.leagues.states import EntryStatus
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.contest.phases.states import BoardShows
from anyshot_platform.foundation.numbers import HalfWidth
from anyshot_platform.judging.scores.models import SubmissionScore
from anyshot_platform.judging.scores.ranked import entry_of
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.phases import publication_of
from anyshot_platform.judging.visibility.standing import counting
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.entries.eligibility import eligibilities_of_entries
from anyshot_platform.standings.leaderboards.rows import shown_of
from anyshot_scoring.rankings import choose_entry


@dataclass(frozen=True)
class LateRow:
    """A late submission, which the board shows below its line: it has no rank."""

    team: str
    submission_number: int
    score: float
    half_width: HalfWidth
    submitted_at: datetime


def read_late(session: Session, version: PhaseVersion, league: League) -> list[LateRow]:
    """Of each team its last late submission that may stand in the league, or its best where the board shows the best.

    The highest score first. None where the phase does not show them, and while its board is frozen.
    """
    phase = version.phase
    if not phase.show_late or publication_of(phase).frozen is not None:
        return []
    teams: dict[str, list[tuple[Submission, SubmissionScore, str]]] = {}
    for submission, score, name in _find_standing(session, version, league):
        teams.setdefault(submission.team_id, []).append((submission, score, name))
    which = "best" if phase.board_shows == BoardShows.BEST else "last"
    rows = []
    for found in teams.values():
        by_id = {one[0].id: one for one in found}
        chosen = choose_entry([entry_of(key, one[1]) for key, one in by_id.items()], which, version.rule)
        if chosen is not None:
            submission, score, name = by_id[chosen.key]
            shown = shown_of(phase, score)
            rows.append(
                LateRow(
                    team=name,
                    submission_number=submission.number,
                    score=shown["value"],
                    half_width=shown["half_width"],
                    submitted_at=submission.created_at,
                )
            )
    return sorted(rows, key=lambda row: (-row.score, row.submitted_at))


def _find_standing(
    session: Session, version: PhaseVersion, league: League
) -> list[tuple[Submission, SubmissionScore, str]]:
    """The scored late submissions that may stand in the league, each with the name of its team."""
    rows = session.execute(
        select(Submission, SubmissionScore, Team.name)
        .join(SubmissionScore, SubmissionScore.submission_id == Submission.id)
        .join(LeagueEntry, LeagueEntry.submission_id == Submission.id)
        .join(Team, Team.id == Submission.team_id)
        .where(
            SubmissionScore.phase_version_id == version.id,
            LeagueEntry.league_id == league.id,
            LeagueEntry.status == EntryStatus.ADMITTED,
            Submission.kind == SubmissionKind.LATE,
            counting(),
            Team.deleted_at.is_(None),
        )
    ).all()
    eligible = eligibilities_of_entries(session, [league], [row[0] for row in rows])
    return [
        (submission, score, name)
        for submission, score, name in rows
        if eligible[league.id, submission.id].status == EntryStatus.ADMITTED
    ]
