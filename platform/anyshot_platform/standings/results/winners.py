"""Who wins something in a phase, and whether organizers know who these people are."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field, computed_field
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.filters import list_of
from anyshot_platform.people.users.models import User
from anyshot_platform.standings.results.awards import in_words
from anyshot_platform.standings.results.models import WinnerCheck
from anyshot_platform.standings.results.reading import LeagueResults, ResultRow
from anyshot_platform.standings.results.records import results_in_force
from anyshot_platform.standings.results.states import IdentityCheck


@dataclass(frozen=True)
class WinnerMember:
    """A member of a winning team, and what was found about them: how it was checked, by whom, when."""

    user_id: Annotated[str, Field(exclude=True)]
    username: str
    name: str
    email: str | None
    affiliation: str
    country: str
    identity: IdentityCheck
    reason: str
    checked_by: str
    checked_at: datetime | None


@dataclass(frozen=True)
class Winner:
    """A team that wins something as the boards stand; `confirmed` once every member is verified."""

    team_id: str
    team: str
    prizes: tuple[str, ...]
    members: tuple[WinnerMember, ...]  # the people of its entries, the captain first

    @computed_field
    @property
    def confirmed(self) -> bool:
        """Whether every member is verified."""
        return bool(self.members) and all(one.identity == IdentityCheck.VERIFIED for one in self.members)

    @property
    def words(self) -> str:
        """Whose identity is missing or was refused, as a sentence; empty where the team is confirmed."""
        refused = [one.username for one in self.members if one.identity == IdentityCheck.REFUSED]
        waiting = [one.username for one in self.members if one.identity == IdentityCheck.OPEN]
        if refused:
            what = "identity" if len(refused) == 1 else "identities"
            verb = "was" if len(refused) == 1 else "were"
            return f"“{self.team}” wins, and the {what} of {list_of(refused)} {verb} refused."
        if waiting:
            verb = "is" if len(waiting) == 1 else "are"
            return f"“{self.team}” wins, and nobody has verified who {list_of(waiting)} {verb}."
        return "" if self.members else f"“{self.team}” wins and has no members."


def read_winners(session: Session, phase: Phase) -> list[Winner]:
    """The winners of a phase, in the order of leagues and ranks; a team stands here once."""
    prizes: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    people: dict[str, dict[str, None]] = {}
    for found in results_in_force(session, phase):
        for row in filter(lambda row: wins(found, row), found.rows):
            names[row.team_id] = row.team
            prizes.setdefault(row.team_id, []).append(_prize(found, row))
            people.setdefault(row.team_id, {}).update(dict.fromkeys(one.user_id for one in row.people))
    return [
        Winner(team, name, tuple(prizes[team]), tuple(_members(session, phase, people[team])))
        for team, name in names.items()
    ]


def wins(found: LeagueResults, row: ResultRow) -> bool:
    """Who gets a prize in money, and the first of a league whose prize is described in words alone."""
    return bool(row.cents) or (row.rank == 1 and bool(found.league.prizes) and not found.league.awards)


def _prize(found: LeagueResults, row: ResultRow) -> str:
    prize = in_words(row.cents, found.league.currency) if row.cents else found.league.prizes
    return f"{found.league.name}, rank {row.rank}: {prize}"


def _members(session: Session, phase: Phase, user_ids: Collection[str]) -> list[WinnerMember]:
    """These people, with what was found about them in this phase; without deleted accounts."""
    rows = session.scalars(select(WinnerCheck).where(WinnerCheck.phase_id == phase.id))
    checks = {row.user_id: row for row in rows}
    users = [session.get_one(User, user_id) for user_id in user_ids]
    return [_member(session, user, checks.get(user.id)) for user in users if user.deleted_at is None]


def _member(session: Session, user: User, check: WinnerCheck | None) -> WinnerMember:
    return WinnerMember(
        user_id=user.id,
        username=user.username,
        name=user.display_name,
        email=user.email,
        affiliation=user.affiliation,
        country=user.country,
        identity=check.outcome if check else IdentityCheck.OPEN,
        reason=check.reason if check else "",
        checked_by=session.get_one(User, check.decided_by).username if check else "",
        checked_at=check.decided_at if check else None,
    )


def note_check(
    session: Session, phase: Phase, user_id: str, outcome: IdentityCheck, reason: str, actor_id: str
) -> None:
    """Keep what was found about a person; `OPEN` takes it back."""
    mine = (WinnerCheck.phase_id == phase.id, WinnerCheck.user_id == user_id)
    row = session.scalars(select(WinnerCheck).where(*mine)).one_or_none()
    if outcome == IdentityCheck.OPEN:
        session.execute(delete(WinnerCheck).where(*mine))
    elif row is None:
        session.add(
            WinnerCheck(
                phase_id=phase.id, user_id=user_id, outcome=outcome, reason=reason, decided_by=actor_id
            )
        )
    else:
        row.outcome, row.reason, row.decided_by, row.decided_at = outcome, reason, actor_id, now()


def forget_checks(session: Session, user_id: str) -> None:
    """Erase what was found about a person, with their account."""
    session.execute(delete(WinnerCheck).where(WinnerCheck.user_id == user_id))
