"""Who may look into a pool, and who may change it. A digest is a name and opens nothing.

A pool belongs to a person or to a competition. What belongs to a competition, its organizers may change; what a
phase of theirs uses, they may look into. A public pool is open to every account.
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Select, and_, false, or_, select, true
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import EvaluationPool, Phase, PhaseVersion
from anyshot_platform.contest.pools.models import Pack, PackKeeper, Pool, PoolPack, PoolVersion
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.judging.visibility.access import organized_ids
from anyshot_platform.people.users.viewer import Viewer


class UnknownPacks(Invalid):
    """Packs that are not here, or not the viewer's to use: the answer does not tell which."""

    code = "unknown_packs"


def may_read(session: Session, viewer: Viewer, pool: Pool) -> bool:
    """Whether the viewer may look into the pool, download it, and name it in a phase."""
    return _holds(session, pool, readable(viewer))


def may_change(session: Session, viewer: Viewer, pool: Pool) -> bool:
    """Whether the viewer may put datasets into the pool, publish and delete it."""
    return _holds(session, pool, changeable(viewer))


def _holds(session: Session, pool: Pool, rule: ColumnElement[bool]) -> bool:
    session.flush()
    return session.scalar(select(Pool.id).where(Pool.id == pool.id, rule)) is not None


def readable(viewer: Viewer) -> ColumnElement[bool]:
    """The pools that the viewer may look into, as a condition."""
    used = select(PoolVersion.pool_id).where(PoolVersion.id.in_(_versions_used(organized_ids(viewer))))
    return or_(changeable(viewer), Pool.published_at.is_not(None), Pool.id.in_(used))


def changeable(viewer: Viewer) -> ColumnElement[bool]:
    """The pools that the viewer may change, as a condition."""
    if viewer.is_site_admin:
        return true()
    if viewer.owner_id is None:
        return false()
    own = and_(Pool.owner_id == viewer.owner_id, Pool.competition_id.is_(None))
    return or_(own, Pool.competition_id.in_(organized_ids(viewer)))


def _versions_used(competitions: Select[str]) -> Select[str | None]:
    """The ids of the pool versions that phases of these competitions train, test, try or test further on."""
    phases = select(Phase.id).where(Phase.competition_id.in_(competitions), Phase.deleted_at.is_(None))
    trained = select(PhaseVersion.meta_train_pool_version_id).where(PhaseVersion.phase_id.in_(phases))
    tested = select(PhaseVersion.meta_test_pool_version_id).where(PhaseVersion.phase_id.in_(phases))
    tried = select(Phase.smoke_pool_version_id).where(Phase.id.in_(phases))
    further = select(EvaluationPool.pool_version_id).where(EvaluationPool.phase_id.in_(phases))
    return select(trained.union(tested, tried, further).subquery().c[0])


def find_packs(session: Session, viewer: Viewer, digests: Sequence[str]) -> list[Pack]:
    """The packs with these digests, in their order; raises `UnknownPacks` for those that the viewer may not use."""
    in_pools = (
        select(PoolPack.pack_id)
        .join(PoolVersion, PoolVersion.id == PoolPack.pool_version_id)
        .join(Pool, Pool.id == PoolVersion.pool_id)
        .where(readable(viewer))
    )
    brought = select(PackKeeper.pack_id).where(PackKeeper.user_id == viewer.id)
    query = select(Pack).where(Pack.digest.in_(digests))
    if not viewer.is_site_admin:
        query = query.where(or_(Pack.id.in_(in_pools), Pack.id.in_(brought)))
    rows = {row.digest: row for row in session.scalars(query)}
    missing = [digest for digest in digests if digest not in rows]
    if missing:
        raise UnknownPacks(
            (
                f"{len(missing)} of these packs are not on this site, or not yours to use. Upload "
                "their files first."
            ),
            missing=missing,
        )
    return [rows[digest] for digest in digests]
