"""Acts on the pools that a competition owns, below its own address: where `anyshot organize do` finds them."""

from fastapi import APIRouter
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.actions.service import ActOutcome
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.pools.actions import acts, version_acts
from anyshot_platform.contest.pools.models import Pool
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.pools.api import PoolDetail, PoolOut, PoolParam, show, show_detail
from anyshot_platform.site.shell.act_routes import add_acts

router = APIRouter(prefix="/api/v1/competitions/{slug}/manage/pools", tags=["organizing: pools"])


def _find(session: Session, competition: Competition, pool_slug: PoolParam) -> Pool:
    """A pool that belongs to the competition: its organizers may change it."""
    owned = (Pool.slug == pool_slug, Pool.competition_id == competition.id)
    pool = session.scalars(select(Pool).where(*owned)).one_or_none()
    if pool is None:
        raise NotFound("This competition owns no such pool.")
    return pool


def _after(session: Session, access: CompetitionAccess, pool: Pool, outcome: ActOutcome) -> PoolOut:
    return show(session, pool, access.viewer)


def _after_version(
    session: Session, access: CompetitionAccess, pool: Pool, outcome: ActOutcome
) -> PoolDetail:
    return show_detail(session, pool, access.viewer)


add_acts(router, acts.ACTS, _find, _after, at="/{pool_slug}")
add_acts(router, version_acts.ACTS, _find, _after_version, at="/{pool_slug}")
