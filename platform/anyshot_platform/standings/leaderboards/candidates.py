"""What stands on the boards of a version: for a team what its entries say, of the organizers each baseline."""

from collections.abc import Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.leagues.models import LeagueEntry
from anyshot_platform.contest.leagues.states import EntryStatus
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.judging.scores.models import SubmissionScore
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.standing import counting
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.entries.selection import StandingEntry
from anyshot_platform.standings.leaderboards.rows import BoardCandidate


def find_candidates(
    session: Session,
    version: PhaseVersion,
    team: Team,
    standings: Mapping[str, StandingEntry],
    leaving: str | None,
) -> list[BoardCandidate]:
    """What a team's rows are made of, by what stands for it in each league."""
    found = [
        BoardCandidate(league_id, team.id, not team.out_of_ranking, standing.candidate.score)
        for league_id, standing in standings.items()
        if standing.stands
    ]
    if team.out_of_ranking:
        found += find_baselines(session, version, team, leaving)
    return found


def find_baselines(
    session: Session, version: PhaseVersion, team: Team, leaving: str | None
) -> list[BoardCandidate]:
    """The marked rows of the organizers: each submission of a baseline has its own."""
    query = (
        select(LeagueEntry.league_id, SubmissionScore)
        .join(Submission, Submission.id == SubmissionScore.submission_id)
        .join(LeagueEntry, LeagueEntry.submission_id == SubmissionScore.submission_id)
        .where(
            SubmissionScore.phase_version_id == version.id,
            SubmissionScore.team_id == team.id,
            Submission.kind == SubmissionKind.BASELINE,
            counting(),
            LeagueEntry.status == EntryStatus.ADMITTED,
        )
    )
    if leaving is not None:
        query = query.where(SubmissionScore.id != leaving)
    return [
        BoardCandidate(league_id, score.submission_id, False, score)
        for league_id, score in session.execute(query)
    ]
