"""Keeps each entry in line with what stands, with its history; lets a team choose where the phase allows it."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.entries.models import Entry, EntryChange
from anyshot_platform.standings.entries.selection import StandingEntry, choose
from anyshot_platform.standings.entries.states import Choice, EntryState


@dataclass(frozen=True)
class TeamEntry:
    """An entry of a team with its league and the submission that it is about."""

    entry: Entry
    league: League
    submission: Submission


def stand(
    session: Session, phase: Phase, version: PhaseVersion, team: Team, *, leaving: str | None = None
) -> dict[str, StandingEntry]:
    """What a team has in each league under a version, by league id; under the live one the entries follow.

    Hidden leagues are kept in line too: when they are back, what they show is as it is then.
    """
    leagues = session.scalars(select(League).where(League.competition_id == phase.competition_id)).all()
    found = choose(session, phase, version, team, leagues, leaving=leaving)
    if version.number == phase.live_version:
        entries = _entries_of(session, phase, team)
        for league in leagues:
            _keep(session, phase, team, league, entries.get(league.id), found.get(league.id))
    return found


def _entries_of(session: Session, phase: Phase, team: Team) -> dict[str, Entry]:
    rows = session.scalars(select(Entry).where(Entry.phase_id == phase.id, Entry.team_id == team.id))
    return {row.league_id: row for row in rows}


def _keep(
    session: Session,
    phase: Phase,
    team: Team,
    league: League,
    entry: Entry | None,
    standing: StandingEntry | None,
) -> None:
    if standing is None:
        if entry is not None and entry.state != EntryState.GONE:
            _change(
                session,
                entry,
                entry.submission_id,
                EntryState.GONE,
                entry.choice,
                "It has no score now.",
            )
        return
    submission_id = standing.candidate.submission.id
    said = (submission_id, standing.state, standing.choice, standing.reason)
    if entry is None:
        entry = Entry(
            phase_id=phase.id,
            league_id=league.id,
            team_id=team.id,
            submission_id=submission_id,
            state=standing.state,
            choice=standing.choice,
            reason=standing.reason,
        )
        session.add(entry)
        session.flush()
        _note(session, entry, None)
    elif (entry.submission_id, entry.state, entry.choice, entry.reason) != said:
        _change(session, entry, *said)


def _change(
    session: Session, entry: Entry, submission_id: str, state: EntryState, choice: Choice, reason: str
) -> None:
    replaced = entry.submission_id if entry.submission_id != submission_id else None
    entry.submission_id, entry.state, entry.choice, entry.reason = submission_id, state, choice, reason
    entry.updated_at = now()
    _note(session, entry, replaced)
    session.flush()


def _note(session: Session, entry: Entry, replaced: str | None) -> None:
    session.add(
        EntryChange(
            entry_id=entry.id,
            submission_id=entry.submission_id,
            replaced_id=replaced,
            state=entry.state,
            choice=entry.choice,
            reason=entry.reason,
        )
    )


def find_entry(session: Session, phase_id: str, league_id: str, team_id: str) -> Entry | None:
    """The entry of a team in a league of a phase."""
    return session.scalars(
        select(Entry).where(
            Entry.phase_id == phase_id, Entry.league_id == league_id, Entry.team_id == team_id
        )
    ).one_or_none()


def list_entries(session: Session, phase: Phase, *, team_id: str | None = None) -> list[TeamEntry]:
    """The entries of a phase, or of one team in it, in the leagues' order."""
    query = (
        select(Entry, League, Submission)
        .join(League, League.id == Entry.league_id)
        .join(Submission, Submission.id == Entry.submission_id)
        .where(Entry.phase_id == phase.id, League.deleted_at.is_(None))
        .order_by(League.position, League.id, Entry.team_id)
    )
    if team_id is not None:
        query = query.where(Entry.team_id == team_id)
    return [TeamEntry(*row) for row in session.execute(query)]


@dataclass(frozen=True)
class Change:
    """A step in an entry's history, with the numbers of the submissions."""

    change: EntryChange
    number: int
    replaced_number: int | None


def history_of(session: Session, entry: Entry) -> list[Change]:
    """What happened to an entry, the newest first."""
    replaced = aliased(Submission)
    rows = session.execute(
        select(EntryChange, Submission.number, replaced.number)
        .join(Submission, Submission.id == EntryChange.submission_id)
        .outerjoin(replaced, replaced.id == EntryChange.replaced_id)
        .where(EntryChange.entry_id == entry.id)
        .order_by(EntryChange.id.desc())
    )
    return [Change(*row) for row in rows]
