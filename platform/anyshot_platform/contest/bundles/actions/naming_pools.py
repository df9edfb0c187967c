"""Which pools a bundle means by the names in it."""

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.bundles.naming import unique
from anyshot_platform.contest.bundles.schema import CompetitionSpec
from anyshot_platform.contest.phases.actions.checks import evaluated_pools
from anyshot_platform.contest.pools.models import Pool, PoolVersion
from anyshot_platform.judging.visibility.pools import readable
from anyshot_platform.people.users.viewer import Viewer


def find_pools(session: Session, spec: CompetitionSpec, actor: Viewer) -> dict[str, PoolVersion]:
    """The pool version that each name of the bundle means; pools that are not there are made, without packs.

    A pool counts as there when the actor may look into it: a name alone must not open other people's hidden data.
    """
    found: dict[str, PoolVersion] = {}
    for wanted in spec.pools:
        version = _known_version(session, actor, wanted.name, wanted.digest)
        if version is None:
            version = _empty_pool(
                session, wanted.name, wanted.title, wanted.description, wanted.digest, actor.id
            )
            version.pool.combines = list(wanted.combines)
        found[wanted.name] = version
    for name in {one for phase in spec.phases for one in evaluated_pools(phase)} - found.keys():
        version = _known_version(session, actor, name, None)
        if version is not None:
            found[name] = version
    return found


def give_new_ones(session: Session, pools: Iterable[PoolVersion], competition_id: str) -> None:
    """Pools that were made for a competition belong to it; those that were there stay whose they are."""
    for version in pools:
        if not version.entries and version.number == 1 and version.pool.competition_id is None:
            version.pool.competition_id = competition_id
    session.flush()


def _known_version(session: Session, actor: Viewer, name: str, digest: str | None) -> PoolVersion | None:
    known = select(Pool).where(Pool.slug == name, Pool.deleted_at.is_(None), readable(actor))
    pool = session.scalars(known).one_or_none()
    return _version_of(session, pool, digest) if pool else None


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
