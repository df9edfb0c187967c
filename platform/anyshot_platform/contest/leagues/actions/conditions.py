"""A league's conditions change: its entries follow, and who has to answer now hears."""

from collections.abc import Mapping

from sqlalchemy import Select, select, update
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.models import League, LeagueEntry
from anyshot_platform.contest.leagues.states import Admission, EntryStatus
from anyshot_platform.contest.phases.service import list_phases
from anyshot_platform.contest.pools.actions.uses import is_over
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.standing import counting
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.entries.eligibility import Eligibility, asks, eligibilities_in
from anyshot_platform.standings.entries.entering import first_status, tell_who_must_answer
from anyshot_platform.standings.entries.selection import COMPETES
from anyshot_platform.standings.leaderboards.service import refresh_everywhere


def teams_in(session: Session, league: League) -> list[Team]:
    """The teams that have a submission in a league."""
    return list(session.scalars(select(Team).where(Team.id.in_(_entered(league))).order_by(Team.id)))


def standing_in(session: Session, league: League) -> dict[str, Eligibility]:
    """Where the teams in a league stand with its conditions, by team id: to be read before these change."""
    return eligibilities_in(session, league, teams_in(session, league))


def follow_conditions(
    session: Session, competition: Competition, league: League, before: Mapping[str, Eligibility]
) -> None:
    """Bring the entries in a league in line with its new conditions; members who must answer now are asked.

    `before` is where the teams stood. When the competition is over nobody can answer: then nobody is asked.
    """
    _follow_admission(session, league, before)
    teams = teams_in(session, league)
    for team in teams:
        refresh_everywhere(session, team.id)
    if league.deleted_at is not None or has_ended(session, competition):
        return
    asked = set(session.scalars(_entered(league).where(counting(), Submission.kind.in_(COMPETES))))
    for team in teams:
        if team.id in asked and team.deleted_at is None:
            known = before.get(team.id)
            tell_who_must_answer(session, team, league, known.must_answer if known else ())


def has_ended(session: Session, competition: Competition) -> bool:
    """Whether every phase is over, with its results published where they have to be: nobody can come in any more."""
    phases = list_phases(session, competition)
    return bool(phases) and all(is_over(phase) for phase in phases)


def _follow_admission(session: Session, league: League, before: Mapping[str, Eligibility]) -> None:
    """Submissions on which nobody decided follow the league.

    Those that waited are let in where a new one would be. Where organizers now approve submissions instead of teams,
    they take what was decided on their team.
    """
    if first_status(league) == EntryStatus.ADMITTED:
        _move(session, league, EntryStatus.DECLARED, EntryStatus.ADMITTED)
    elif league.admission == Admission.APPROVAL and not asks(league):
        for team_id, known in before.items():
            if known.status != EntryStatus.ADMITTED:
                _move(session, league, EntryStatus.ADMITTED, known.status, known.reason, team_id)
    session.flush()


def _move(
    session: Session,
    league: League,
    old: EntryStatus,
    new: EntryStatus,
    reason: str = "",
    team_id: str | None = None,
) -> None:
    """Give the submissions in a league that stand so without an organizer another status: of a team, or of all."""
    query = update(LeagueEntry).where(
        LeagueEntry.league_id == league.id, LeagueEntry.status == old, LeagueEntry.decided_at.is_(None)
    )
    if team_id is not None:
        mine = select(Submission.id).where(Submission.team_id == team_id)
        query = query.where(LeagueEntry.submission_id.in_(mine))
    session.execute(query.values(status=new, reason=reason if new == EntryStatus.REFUSED else ""))


def _entered(league: League) -> Select[str]:
    return (
        select(Submission.team_id)
        .join(LeagueEntry, LeagueEntry.submission_id == Submission.id)
        .where(LeagueEntry.league_id == league.id)
    )
