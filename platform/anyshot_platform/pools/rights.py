"""Who may refer to a pack. A digest is a name and opens nothing: it takes a pool that one may read, or the bytes."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from anyshot_platform.errors import Invalid
from anyshot_platform.pools.models import Pack, PackKeeper, Pool, PoolPack, PoolVersion
from anyshot_platform.users.viewer import Viewer


class UnknownPacks(Invalid):
    """Packs that are not here, or not the viewer's to use: the answer does not tell which."""

    code = "unknown_packs"


def note_keeper(session: Session, pack: Pack, user_id: str) -> None:
    """Remember that a user brought the bytes of a pack, and may therefore use it."""
    if session.get(PackKeeper, (pack.id, user_id)) is None:
        session.add(PackKeeper(pack_id=pack.id, user_id=user_id))
        session.flush()


def find_packs(session: Session, viewer: Viewer, digests: Sequence[str]) -> list[Pack]:
    """The packs with these digests, in their order; raises `UnknownPacks` for those that the viewer may not use."""
    query = select(Pack).where(Pack.digest.in_(digests))
    if not viewer.is_site_admin:
        query = query.where(or_(Pack.id.in_(_in_readable_pools(viewer)), Pack.id.in_(_brought_by(viewer))))
    rows = {row.digest: row for row in session.scalars(query)}
    missing = [digest for digest in digests if digest not in rows]
    if missing:
        raise UnknownPacks(
            f"{len(missing)} of these packs are not on this site, or not yours to use. Upload their files first.",
            missing=missing,
        )
    return [rows[digest] for digest in digests]


def _in_readable_pools(viewer: Viewer):
    readable = or_(Pool.owner_id == viewer.owner_id, Pool.published_at.is_not(None))
    return (
        select(PoolPack.pack_id)
        .join(PoolVersion, PoolVersion.id == PoolPack.pool_version_id)
        .join(Pool, Pool.id == PoolVersion.pool_id)
        .where(readable)
    )


def _brought_by(viewer: Viewer):
    return select(PackKeeper.pack_id).where(PackKeeper.user_id == viewer.id)


def is_public(pool: PoolVersion | None) -> bool:
    """Whether participants can download the packs of a pool."""
    return pool is not None and pool.pool.published_at is not None and pool.pool.deleted_at is None
