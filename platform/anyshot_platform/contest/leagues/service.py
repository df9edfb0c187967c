"""Finds the leagues of a competition, all in their order or one by its address."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.foundation.errors import NotFound


def list_leagues(session: Session, competition: Competition, *, deleted: bool = False) -> list[League]:
    """The leagues in their order."""
    query = select(League).where(League.competition_id == competition.id)
    if not deleted:
        query = query.where(League.deleted_at.is_(None))
    return list(session.scalars(query.order_by(League.position, League.id)))


def find_league(session: Session, competition: Competition, slug: str) -> League:
    """A league by its address; raises `NotFound`."""
    for league in list_leagues(session, competition, deleted=True):
        if league.slug == slug:
            return league
    raise NotFound("There is no such league.")
