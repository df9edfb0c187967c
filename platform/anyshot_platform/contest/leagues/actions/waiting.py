"""What waits for the organizers' decision in leagues: what the lists show and the badges count, of one query."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.models import League, LeagueEntry
from anyshot_platform.contest.leagues.service import list_leagues
from anyshot_platform.contest.leagues.states import Admission, EntryStatus
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.standing import kept
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.entries.eligibility import Eligibility, approves_teams, asks, eligibilities_in
from anyshot_platform.standings.entries.models import LeagueAnswer


@dataclass(frozen=True)
class TeamInLeague:
    """A team in a league that asks, and where it stands."""

    league: League
    team: Team
    eligibility: Eligibility


def judges(league: League) -> bool:
    """Whether organizers decide on each submission in a league."""
    return league.admission in (Admission.APPROVAL, Admission.FROM_SCRATCH) and not approves_teams(league)


def judged_entries(session: Session, competition: Competition) -> list[ColumnElement[bool]]:
    """The submissions in leagues on which organizers decide, as conditions on `LeagueEntry` and `Submission`.

    Those that wait are among them whatever the league: its conditions may have changed since.
    """
    leagues = list_leagues(session, competition)
    judging = LeagueEntry.league_id.in_([league.id for league in leagues if judges(league)])
    return [
        LeagueEntry.league_id.in_([league.id for league in leagues]),
        kept(),
        Submission.kind != SubmissionKind.LATE,
        or_(judging, LeagueEntry.status == EntryStatus.DECLARED),
    ]


def list_teams(session: Session, leagues: Iterable[League]) -> list[TeamInLeague]:
    """Every team that answered in, or entered, a league that asks, by league and name."""
    return [
        TeamInLeague(league, team, found)
        for league in leagues
        if league.deleted_at is None and asks(league)
        for team, found in _weighed(session, league)
    ]


def _weighed(session: Session, league: League) -> list[tuple[Team, Eligibility]]:
    teams = _teams_of(session, league)
    found = eligibilities_in(session, league, teams)
    return [(team, found[team.id]) for team in teams]


def _teams_of(session: Session, league: League) -> list[Team]:
    answered = select(LeagueAnswer.team_id).where(LeagueAnswer.league_id == league.id)
    entered = (
        select(Submission.team_id)
        .join(LeagueEntry, LeagueEntry.submission_id == Submission.id)
        .where(LeagueEntry.league_id == league.id)
    )
    query = select(Team).where(Team.id.in_(answered.union(entered)), Team.deleted_at.is_(None))
    return list(session.scalars(query.where(Team.out_of_ranking.is_(False)).order_by(Team.name_key)))


def count_waiting(session: Session, competition: Competition) -> int:
    """Submissions and teams that wait for an organizer's decision: those that the lists show as waiting."""
    submissions = (
        select(func.count())
        .select_from(LeagueEntry)
        .join(Submission, Submission.id == LeagueEntry.submission_id)
        .where(*judged_entries(session, competition), LeagueEntry.status == EntryStatus.DECLARED)
    )
    approving = [league for league in list_leagues(session, competition) if approves_teams(league)]
    teams = sum(one.eligibility.waits for one in list_teams(session, approving))
    return (session.scalar(submissions) or 0) + teams
