"""What organizers do to leagues: edit them, decide who stands in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.words import count_of
from anyshot_platform.actions.concurrency import Fields, changes_upon, require_seen
from anyshot_platform.actions.declaration import ActRequest, Consent
from anyshot_platform.actions.many import together
from anyshot_platform.actions.service import NO_CONSENT, ActOutcome, carry_out
from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.leagues.actions.conditions import follow_conditions, standing_in
from anyshot_platform.contest.leagues.actions.entry_acts import (
    VERDICTS,
    Judged,
    find_judged,
    name_of,
    written,
)
from anyshot_platform.contest.leagues.actions.waiting import judged_entries
from anyshot_platform.contest.leagues.description import LeagueSpec, describe_league, league_values
from anyshot_platform.contest.leagues.models import League, LeagueEntry
from anyshot_platform.contest.leagues.service import list_leagues
from anyshot_platform.contest.leagues.states import EntryStatus
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.schema.settings import Effect, effects
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.audit import service as audit
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User


@dataclass(frozen=True)
class LeagueEntryRow(Judged):
    """An entry with what an organizer needs to decide on it."""

    team: str
    members: tuple[str, ...]
    decided_by: str  # the organizer's name; empty where nobody did, or the rule of the league

    @property
    def name(self) -> str:
        """What people call it."""
        return name_of(self)


def save_league(
    session: Session,
    competition: Competition,
    spec: LeagueSpec,
    actor_id: str,
    league: League | None = None,
    version: str | None = None,
) -> League:
    """Add a league, or change one; where its conditions change, its entries follow, and who must answer hears.

    `version` and `Stale` are as in `changes_upon`.
    """
    standing = standing_in(session, league) if league is not None else None
    if league is None:
        known = list_leagues(session, competition, deleted=True)
        if spec.key in {other.slug for other in known}:
            raise Invalid(f"There is a league “{spec.key}” already.", field="key")
        league = League(competition_id=competition.id, slug=spec.key, position=len(known))
        session.add(league)
        old, before = spec, dict[str, Any]()
    else:
        old = describe_league(league)
        before = old.model_dump(mode="json")
        wanted = spec.model_dump(mode="json")
        changed = changes_upon(session, ("league", league.id), version, wanted, before)
        spec = LeagueSpec.model_validate({**before, **changed})
    for name, value in league_values(spec).items():
        setattr(league, name, value)
    session.flush()
    after = {k: v for k, v in spec.model_dump(mode="json").items() if k not in before or before[k] != v}
    if after:
        was = {name: before[name] for name in after if name in before}
        _record(session, league, actor_id, "league.save", before=was, after=after)
    if standing is not None and Effect.CONDITIONS in effects(old, spec):
        follow_conditions(session, competition, league, standing)
    return league


def list_entries(
    session: Session, competition: Competition, *, status: EntryStatus | None = None, limit: int = 200
) -> list[LeagueEntryRow]:
    """Submissions in leagues where organizers decide on each, those that wait first.

    Leagues that approve teams decide on the team: of their submissions only those that wait are here.
    """
    query = (
        select(LeagueEntry, Submission, League, Team.name, User.username)
        .join(League, League.id == LeagueEntry.league_id)
        .join(Submission, Submission.id == LeagueEntry.submission_id)
        .join(Team, Team.id == Submission.team_id)
        .outerjoin(User, User.id == LeagueEntry.decided_by)
        .where(*judged_entries(session, competition))
        .order_by(LeagueEntry.status != EntryStatus.DECLARED, Submission.created_at.desc())
        .limit(limit)
    )
    if status is not None:
        query = query.where(LeagueEntry.status == status)
    return [
        LeagueEntryRow(entry, submission, league, team, _members(session, submission.team_id), by or "")
        for entry, submission, league, team, by in session.execute(query)
    ]


def _members(session: Session, team_id: str) -> tuple[str, ...]:
    names = select(User.username).join(Membership, Membership.user_id == User.id)
    return tuple(session.scalars(names.where(Membership.team_id == team_id)))


def decide(
    session: Session,
    competition: Competition,
    entries: Sequence[tuple[str, str]],
    status: EntryStatus,
    actor_id: str,
    reason: str,
    seen: Fields,
    consent: Consent = NO_CONSENT,
) -> list[ActOutcome]:
    """Admit or refuse entries, each (submission id, league id); boards follow. `consent` is as in `together`.

    Raises `Stale` where one was decided on since it was `seen`.
    """
    act, request = VERDICTS[status], ActRequest(actor_id, reason)
    chosen = [find_judged(session, competition, *entry) for entry in entries]
    there = {name_of(judged): written(judged) for judged in chosen}
    require_seen(session, seen, dict.fromkeys(there, status.value), there)
    title = act.title.replace("{}", count_of(len(chosen), "entry", "entries"))
    with together(len(chosen), title, competition, consent, reason) as each:
        return [carry_out(session, act, judged, request, each) for judged in chosen]


def _record(session: Session, league: League, actor_id: str, action: str, **details: Any) -> None:
    audit.record(
        session,
        actor_id=actor_id,
        action=action,
        object_type="league",
        object_id=league.id,
        competition_id=league.competition_id,
        **details,
    )
