"""What people do to entries: answer a league's questions, choose what stands."""

from collections.abc import Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.actions.concurrency import Written, changes_upon
from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.leagues.actions.conditions import has_ended
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.foundation.errors import Conflict, NotFound
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.entries import eligibility
from anyshot_platform.standings.entries.entering import tell_who_must_answer
from anyshot_platform.standings.entries.models import Entry
from anyshot_platform.standings.entries.selection import choices_of, require_choosing
from anyshot_platform.standings.entries.service import find_entry
from anyshot_platform.standings.entries.states import EntryState
from anyshot_platform.standings.leaderboards.service import refresh_everywhere, refresh_team


def answer(
    session: Session,
    competition: Competition,
    league: League,
    membership: Membership,
    answers: Mapping[str, str],
) -> None:
    """Answer a league's questions for oneself; the team's entries follow."""
    if has_ended(session, competition):
        raise Conflict("The competition is over: what its leagues asked cannot be answered any more.")
    if not eligibility.asks(league):
        raise Conflict(f"{league.name} asks nothing.")
    eligibility.answer(session, league, membership, answers)
    refresh_everywhere(session, membership.team_id or "")


def ask_again(session: Session, team_id: str) -> None:
    """The members of a team have changed: who has to answer for what it hands in from now on hears.

    What it handed in before stays an entry of who was in the team then.
    """
    refresh_everywhere(session, team_id)  # it may have been dissolved, or be back
    team = session.get_one(Team, team_id)
    if team.deleted_at is not None or has_ended(session, session.get_one(Competition, team.competition_id)):
        return
    for league in leagues_that_ask(session, team):
        tell_who_must_answer(session, team, league)


def leagues_that_ask(session: Session, team: Team) -> list[League]:
    """The leagues in which a team has an entry, and which ask its members something."""
    mine = select(Entry.league_id).where(Entry.team_id == team.id, Entry.state != EntryState.GONE)
    query = select(League).where(League.id.in_(mine), League.deleted_at.is_(None)).order_by(League.position)
    return [league for league in session.scalars(query) if eligibility.asks(league)]


def choose_by_hand(
    session: Session,
    phase: Phase,
    league: League,
    membership: Membership,
    submission_id: str | None,
    version: str | None,
) -> None:
    """Let this submission stand for the team in the league; None goes back to the phase's rule.

    Raises `Forbidden` where the phase decides by its rule alone, `PhaseNotOpen` once it has ended, `Stale` where
    another member chose otherwise since the choice had this `version`, as in `changes_upon`.
    """
    require_choosing(phase, membership.team_id)
    entry = find_entry(session, phase.id, league.id, membership.team_id or "")
    if entry is None:
        raise NotFound("Your team has no entry in this league yet.")
    word = _require_choice(session, phase, league, membership, submission_id) if submission_id else ""
    there = chosen_by_hand(session, entry)
    changes_upon(session, there, version, {league.name: word}, {league.name: there.value})
    entry.by_hand_id, entry.by_hand_of = submission_id, membership.user_id
    session.flush()
    for one in phase.versions:
        refresh_team(session, one, membership.team_id or "")


def chosen_by_hand(session: Session, entry: Entry) -> Written:
    """Which submission a team chose in a league, as its number, and who did; empty where the rule decides."""
    chosen = session.get(Submission, entry.by_hand_id) if entry.by_hand_id else None
    return Written(_word(chosen) if chosen else "", entry.by_hand_of, entry.updated_at)


def _require_choice(
    session: Session, phase: Phase, league: League, membership: Membership, submission_id: str
) -> str:
    team = session.get_one(Team, membership.team_id)
    choices = choices_of(session, live_version(session, phase), team).get(league.id, [])
    if submission_id not in {one.submission.id for one in choices}:
        numbers = [f"no. {one.submission.number}" for one in choices]
        known = join_texts(numbers, ", ") or "none yet"
        raise NotFound(f"Your team has no such submission that could count in {league.name}; it has {known}.")
    return _word(session.get_one(Submission, submission_id))


def _word(submission: Submission) -> str:
    return f"#{submission.number}"
