"""Who brought a pack, and whether a pool is public."""

from sqlalchemy.orm import Session

from anyshot_platform.contest.pools.models import Pack, PackKeeper, PoolVersion


def note_keeper(session: Session, pack: Pack, user_id: str) -> None:
    """Remember that a user brought the bytes of a pack, and may therefore use it (`judging.visibility.pools`)."""
    if session.get(PackKeeper, (pack.id, user_id)) is None:
        session.add(PackKeeper(pack_id=pack.id, user_id=user_id))
        session.flush()


def is_public(pool: PoolVersion | None) -> bool:
    """Whether participants can download the packs of a pool."""
    return pool is not None and pool.pool.published_at is not None and pool.pool.deleted_at is None
