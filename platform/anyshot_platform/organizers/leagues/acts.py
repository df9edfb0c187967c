"""Acts on a league: hiding it with its boards, and bringing it back."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.acts.declaration import Target, by_name
from anyshot_platform.acts.hiding import delete_and_restore
from anyshot_platform.entries.models import Entry
from anyshot_platform.kernel.filters import count
from anyshot_platform.leagues.models import League


def _target(session: Session, league: League) -> Target:
    return Target("league", league.id, league.slug, f"“{league.name}”", (league.competition_id,))


def _teams(session: Session, league: League) -> int:
    """How many teams have an entry in a league."""
    query = select(func.count(Entry.team_id.distinct())).where(Entry.league_id == league.id)
    return session.scalar(query) or 0


def _hides(session: Session, league: League) -> list[str]:
    teams = _teams(session, league)
    hidden = (
        f"Its boards are hidden, with the entries of {count(teams, 'team')} on them."
        if teams
        else "Its boards are hidden, all empty."
    )
    return [
        hidden,
        "Nobody can enter it, and it has no winners.",
    ]


DELETE, RESTORE = delete_and_restore(
    "league",
    _target,
    _hides,
    "Its boards are back, with the entries on them.",
    asks=lambda session, league: _teams(session, league) > 0,
)
ACTS = by_name(DELETE, RESTORE)
