"""Which pools a bundle means by the names in it."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.bundles.naming import unique
from anyshot_platform.bundles.schema import CompetitionSpec
from anyshot_platform.pools.models import Pool, PoolVersion


def find_pools(
    session: Session, spec: CompetitionSpec, actor_id: str, *, any_owner: bool
) -> dict[str, PoolVersion]:
    """The pool version that each name of the bundle means; pools that are not there are made, without packs.

    A pool counts as there when it is the actor's own, or public, or the actor is a site administrator; a name alone
    must not open other people's hidden data.
    """
    found: dict[str, PoolVersion] = {}
    for wanted in spec.pools:
        pools = list(session.scalars(select(Pool).where(Pool.slug == wanted.name, Pool.deleted_at.is_(None))))
        mine = [p for p in pools if any_owner or p.owner_id == actor_id or p.published_at is not None]
        version = _version_of(session, mine[0], wanted.digest) if mine else None
        if version is None:
            version = _empty_pool(
                session, wanted.name, wanted.title, wanted.description, wanted.digest, actor_id
            )
            version.pool.combines = list(wanted.combines)
        found[wanted.name] = version
    return found


def _version_of(session: Session, pool: Pool, digest: str | None) -> PoolVersion | None:
    query = select(PoolVersion).where(PoolVersion.pool_id == pool.id).order_by(PoolVersion.number.desc())
    versions = list(session.scalars(query))
    matching = [version for version in versions if digest is None or version.digest == digest]
    return matching[0] if matching else None


def _empty_pool(
    session: Session, slug: str, title: str, description: str, digest: str | None, actor_id: str
) -> PoolVersion:
    """A pool with a first version that waits for its packs."""
    taken = set(session.scalars(select(Pool.slug).where(Pool.slug.startswith(slug))))
    pool = Pool(slug=unique(slug, taken), name=title or slug, description=description, owner_id=actor_id)
    session.add(pool)
    session.flush()
    version = PoolVersion(
        pool_id=pool.id, number=1, digest=digest or "", note="waits for its packs", created_by=actor_id
    )
    session.add(version)
    session.flush()
    version.pool = pool
    return version
