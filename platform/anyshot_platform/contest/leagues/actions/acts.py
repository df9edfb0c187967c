"""Acts on a league: hiding it with its boards, and bringing it back."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import Target, by_name
from anyshot_platform.actions.hiding import delete_and_restore
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.foundation.filters import count
from anyshot_platform.standings.entries.models import Entry


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
