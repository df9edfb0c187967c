"""Entries as organizers see them: every team, league and phase in one list, and what they may do to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from anyshot_core.words import count_of
from anyshot_platform.actions.concurrency import Fields
from anyshot_platform.actions.declaration import Consent
from anyshot_platform.actions.many import ManyDone, together, why_by_itself
from anyshot_platform.actions.service import NO_CONSENT, JointConsent, NeedsConsent
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.actions.entry_acts import Judged, name_of
from anyshot_platform.contest.leagues.actions.organizing import decide
from anyshot_platform.contest.leagues.models import League, LeagueEntry
from anyshot_platform.contest.leagues.states import EntryStatus
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.status_words import status_words
from anyshot_platform.foundation.errors import Conflict, Invalid
from anyshot_platform.foundation.paging import Page, page_of
from anyshot_platform.judging.submissions.actions import bulk
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.entries.actions import team_acts
from anyshot_platform.standings.entries.eligibility import asks, eligibility_of
from anyshot_platform.standings.entries.models import Entry
from anyshot_platform.standings.entries.service import Change, TeamEntry, history_of
from anyshot_platform.standings.entries.states import EntryState

PAGE_SIZE = 50


class EntryAct(StrEnum):
    """What organizers do to entries."""

    ADMIT = "admit"
    REFUSE = "refuse"
    DISQUALIFY = "disqualify"
    QUALIFY = "qualify"  # undoes a disqualification


class EntryFilter(BaseModel):
    """Which entries: short names, a state, a part of the team's name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    phase: str = Field(default="", max_length=64)
    league: str = Field(default="", max_length=64)
    state: EntryState | None = None
    text: str = Field(default="", max_length=100)


@dataclass(frozen=True)
class EntryRow(TeamEntry):
    """An entry with all that is shown of it."""

    phase: Phase
    team: Team
    history: Sequence[Change]


def find_entries(
    session: Session, competition: Competition, wanted: EntryFilter, number: int = 1
) -> tuple[list[EntryRow], Page]:
    """One page of the list, by phase, league and team."""
    conditions = _conditions(competition, wanted)
    total = session.scalar(_joined(select(func.count(Entry.id))).where(*conditions)) or 0
    page = page_of(number, PAGE_SIZE, total)
    rows: Any = session.execute(
        _joined(select(Entry, League, Submission, Phase, Team))
        .where(*conditions)
        .order_by(Phase.position, Phase.id, League.position, League.id, Team.name_key)
        .offset(page.offset)
        .limit(PAGE_SIZE)
    )
    found = [
        EntryRow(entry, league, submission, phase, team, history_of(session, entry))
        for entry, league, submission, phase, team in rows
    ]
    return found, page


def decided_on(session: Session, rows: Sequence[EntryRow]) -> dict[str, str]:
    """What is decided on each row, by the names of its submission, and of its team where it is asked: for `seen`."""
    found = {}
    for row in rows:
        if asks(row.league):
            known = eligibility_of(session, row.league, row.team)
            found[team_acts.name_of(row.team.name, row.league.name)] = known.status.value
        if (judged := _judged(session, row.submission, row.league)) is not None:
            found[name_of(judged)] = judged.entry.status.value
    return found


def _joined(query: Any) -> Any:
    return (
        query.select_from(Entry)
        .join(Phase, Phase.id == Entry.phase_id)
        .join(League, League.id == Entry.league_id)
        .join(Team, Team.id == Entry.team_id)
        .join(Submission, Submission.id == Entry.submission_id)
    )


def _conditions(competition: Competition, wanted: EntryFilter) -> list[ColumnElement[bool]]:
    found = [
        Phase.competition_id == competition.id,
        Phase.deleted_at.is_(None),
        League.deleted_at.is_(None),
    ]
    if wanted.phase:
        found.append(Phase.slug == wanted.phase)
    if wanted.league:
        found.append(League.slug == wanted.league)
    if wanted.state is not None:
        found.append(Entry.state == wanted.state)
    if wanted.text:
        found.append(Team.name_key.contains(wanted.text.casefold(), autoescape=True))
    return found


def act_on(
    session: Session,
    competition: Competition,
    ids: Sequence[str],
    act: EntryAct,
    actor_id: str,
    reason: str,
    seen: Fields,
    consent: Consent = NO_CONSENT,
) -> ManyDone:
    """Do one thing to many entries; boards follow, teams hear, the log keeps it.

    Admitting and refusing is about the submission while that is not admitted itself; then, in a league that asks its
    members, about the team.
    What somebody else decided on since it was `seen` is left out. Raises `Invalid` where a reason is missing.
    `consent` is as in `do_to_many`.
    """
    if act in (EntryAct.REFUSE, EntryAct.DISQUALIFY) and not reason.strip():
        raise Invalid("Give the reason: the team sees it.", field="reason")
    rows: Any = session.execute(
        _joined(select(Entry, League, Submission)).where(
            Phase.competition_id == competition.id, Entry.id.in_(ids)
        )
    ).all()
    title = f"{act.value.capitalize()} {count_of(len(rows), 'entry', 'entries')}"
    done: list[str] = []
    warnings: list[str] = []
    skipped: dict[str, str] = dict.fromkeys(set(ids) - {row[0].id for row in rows}, "It is not here.")
    with together(len(rows), title, competition, consent, reason) as each:
        for row in rows:
            entry: Entry = row[0]
            why, warned = _act(session, competition, row[1], row[2], act, actor_id, reason, seen, each)
            warnings += warned
            if why:
                skipped[entry.id] = why
            else:
                done.append(entry.id)
    return ManyDone(tuple(done), skipped, tuple(dict.fromkeys(warnings)))


def _act(
    session: Session,
    competition: Competition,
    league: League,
    submission: Submission,
    act: EntryAct,
    actor_id: str,
    reason: str,
    seen: Fields,
    consent: Consent,
) -> tuple[str, Sequence[str]]:
    """Do it; returns why not, in words, and what the act warned of."""
    if act in (EntryAct.DISQUALIFY, EntryAct.QUALIFY):
        found = bulk.act_on(session, [submission], bulk.SubmissionAct(act.value), actor_id, reason, consent)
        return found.skipped.get(submission.id, ""), found.warnings
    status = EntryStatus.ADMITTED if act == EntryAct.ADMIT else EntryStatus.REFUSED
    said = status, actor_id, reason, seen, consent
    try:
        if asks(league) and _is_admitted(session, submission, league, seen):
            (outcome,) = team_acts.judge(session, competition, [(league, submission.team_id)], *said)
        else:
            (outcome,) = decide(session, competition, [(submission.id, league.id)], *said)
    except NeedsConsent as error:
        if not isinstance(consent, JointConsent):
            raise
        return why_by_itself(error.preview), ()
    except Conflict as error:
        return error.message, ()
    why = "" if outcome.changed else f"It is {status_words(status.value)} already."
    return why, outcome.warnings


def _is_admitted(session: Session, submission: Submission, league: League, seen: Fields) -> bool:
    """Whether a submission is admitted, and was when it was `seen`: then what is decided is about its team."""
    judged = _judged(session, submission, league)
    if judged is None:
        return True
    there = judged.entry.status.value
    return {there, seen.get(name_of(judged), there)} == {EntryStatus.ADMITTED.value}


def _judged(session: Session, submission: Submission, league: League) -> Judged | None:
    entry = session.get(LeagueEntry, (submission.id, league.id))
    return Judged(entry, submission, league) if entry is not None else None
