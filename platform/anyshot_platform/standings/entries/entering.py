"""Which leagues a new submission enters, and whether it may."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from anyshot_core.words import moment_words
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.models import League, LeagueEntry
from anyshot_platform.contest.leagues.states import Admission, EntryStatus
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Conflict, Invalid, PlatformError
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.quota import Allowance, QuotaUsedUp
from anyshot_platform.judging.submissions.states import HANDED_IN, SubmissionKind
from anyshot_platform.people.notifications.service import notify
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.entries.eligibility import approves_teams, asks, eligibility_of
from anyshot_platform.standings.entries.models import Entry

_FIRST = {
    Admission.ALL: EntryStatus.ADMITTED,
    Admission.DECLARED: EntryStatus.ADMITTED,
    Admission.APPROVAL: EntryStatus.DECLARED,
    Admission.FROM_SCRATCH: EntryStatus.DECLARED,  # until the evidence of its run is there
}


def chosen_leagues(session: Session, competition_id: str, slugs: Sequence[str]) -> list[League]:
    """The leagues of these names; without names, those that are open to all.

    Raises `Invalid` for a name that is no league.
    """
    leagues = session.scalars(
        select(League)
        .where(League.competition_id == competition_id, League.deleted_at.is_(None))
        .order_by(League.position, League.id)
    ).all()
    known = ", ".join(league.slug for league in leagues)
    unknown = set(slugs) - {league.slug for league in leagues}
    if unknown:
        raise Invalid(
            f"There is no league {', '.join(sorted(unknown))}. Leagues: {known}.",
            field="leagues",
        )
    if slugs:
        return [league for league in leagues if league.slug in slugs]
    return [league for league in leagues if league.admission == Admission.ALL]


def default_leagues(
    session: Session, team: Team, phase: Phase, moment: datetime | None = None
) -> list[League]:
    """The leagues that an upload enters which names none: those open to all that the team can enter then, or now."""
    return [
        league
        for league in chosen_leagues(session, phase.competition_id, ())
        if refusal_of(session, league, team, phase.id, moment) is None
    ]


def require_leagues(
    session: Session, team: Team, phase: Phase, slugs: Sequence[str], moment: datetime
) -> list[League]:
    """The leagues that an upload naming these enters at the moment that counts, or naming none.

    Raises where there is no league, or where the team cannot enter one that is named, or any that is open to all.
    """
    leagues = chosen_leagues(session, phase.competition_id, slugs)
    if not slugs:
        leagues = default_leagues(session, team, phase, moment) or leagues
    if not leagues:
        raise Invalid("Choose a league that this submission enters.", field="leagues")
    for league in leagues:
        refusal = refusal_of(session, league, team, phase.id, moment)
        if refusal is not None:
            raise refusal
    return leagues


def refusal_of(
    session: Session, league: League, team: Team, phase_id: str, moment: datetime | None = None
) -> PlatformError | None:
    """Why a team cannot enter a league then, or now: not open yet, closed to newcomers, or its own quota is used up."""
    moment = moment or now()
    if league.opens_at is not None and moment < league.opens_at:
        return Conflict(f"The league {league.name} opens at {moment_words(league.opens_at)}.")
    if league.closed_to_newcomers and not _has_entry(session, league, team):
        return Conflict(f"The league {league.name} is closed to teams that have no entry in it.")
    day, phase = league_quota(session, league, team.id, phase_id, moment)
    for allowance, words in ((day, "today's submissions"), (phase, "all its submissions to this phase")):
        if allowance.left == 0:
            return QuotaUsedUp(
                f"Your team has used {words} in the league {league.name}.",
                used=allowance.used,
                limit=allowance.limit,
            )
    return None


def league_quota(
    session: Session, league: League, team_id: str, phase_id: str, moment: datetime
) -> tuple[Allowance, Allowance]:
    """What a team has used of a league's own quota, on the UTC day of a moment and in the phase."""

    def count(*more: ColumnElement[bool]) -> int:
        query = (
            select(func.count())
            .select_from(LeagueEntry)
            .join(Submission, Submission.id == LeagueEntry.submission_id)
            .where(
                LeagueEntry.league_id == league.id,
                Submission.team_id == team_id,
                Submission.phase_id == phase_id,
                Submission.kind.in_(HANDED_IN),
                Submission.counts_quota,
                *more,
            )
        )
        return session.scalar(query) or 0

    today = count(Submission.quota_day == moment.date()) if league.quota_day is not None else 0
    whole = count() if league.quota_phase is not None else 0
    return Allowance(today, league.quota_day), Allowance(whole, league.quota_phase)


def _has_entry(session: Session, league: League, team: Team) -> bool:
    mine = select(Entry.id).where(Entry.league_id == league.id, Entry.team_id == team.id)
    return session.scalar(mine.limit(1)) is not None


def first_status(league: League) -> EntryStatus:
    """Where a new submission stands in a league, before its evidence is there and before anybody decides on it."""
    return EntryStatus.ADMITTED if approves_teams(league) else _FIRST[league.admission]


def enter(session: Session, submission: Submission, leagues: Sequence[League]) -> None:
    """Put a submission into leagues; members whose answers a league needs are asked."""
    for league in leagues:
        session.add(
            LeagueEntry(submission_id=submission.id, league_id=league.id, status=first_status(league))
        )
        if submission.kind == SubmissionKind.ENTRY and asks(league):
            tell_who_must_answer(session, session.get_one(Team, submission.team_id), league)
    session.flush()


def tell_who_must_answer(
    session: Session, team: Team, league: League, asked_before: Collection[str] = ()
) -> None:
    """Ask the members whose answers to a league's questions hold their team's entry back.

    `asked_before` are the user names of those who were told already.
    """
    found = eligibility_of(session, league, team)
    asked = found.must_answer.difference(asked_before)
    waiting = [row.user.id for row in found.members if row.user.username in asked]
    notify(
        session,
        waiting,
        kind="membership",
        title=f"{team.name} is in the league {league.name}: please answer its questions",
        body="What the team hands in with you in it is held back until the members who must qualify have answered.",
        url=f"/competitions/{session.get_one(Competition, team.competition_id).slug}/leagues",
    )
