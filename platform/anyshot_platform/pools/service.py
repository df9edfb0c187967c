"""Packs come in, pools are put together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_core.data import pack as packs
from anyshot_core.data.digests import digest_file
from anyshot_core.data.problems import BadPack
from anyshot_platform.artifacts.service import keep_file
from anyshot_platform.errors import Conflict, Invalid
from anyshot_platform.kernel.slugs import check_slug
from anyshot_platform.pools.images import keep_fingerprints
from anyshot_platform.pools.models import Pack, Pool, PoolPack, PoolVersion
from anyshot_platform.pools.rights import note_keeper
from anyshot_platform.services import Services


class BadPackFile(Invalid):
    """The file is no pack, or a damaged one."""

    code = "bad_pack"


def add_pack(services: Services, path: Path, user_id: str | None = None) -> Pack:
    """Check a pack file, store it, and return its row; a pack that is known already is not stored again.

    The user who brought the bytes may put the pack into pools from now on (`rights.find_packs`).
    """
    try:
        opened = packs.Pack.open(path, verify=True)
    except BadPack as error:
        raise BadPackFile(str(error).replace(str(path), "This file")) from error
    digest = digest_file(path)
    keep_file(services, path, digest)
    fingerprints = keep_fingerprints(services, opened)
    with services.database.writing() as session:
        row = session.scalars(select(Pack).where(Pack.digest == digest)).one_or_none()
        row = row or _new_pack(session, opened, digest, path.stat().st_size)
        row.details = _details(opened)  # also of a pack that came before a detail was kept
        row.fingerprints = fingerprints
        if user_id is not None:
            note_keeper(session, row, user_id)
        return row


def newest_version(session: Session, slug: str) -> PoolVersion | None:
    """The newest version of a pool that is not deleted."""
    return session.scalars(
        select(PoolVersion)
        .join(Pool, Pool.id == PoolVersion.pool_id)
        .where(Pool.slug == slug, Pool.deleted_at.is_(None))
        .order_by(PoolVersion.number.desc())
        .limit(1)
    ).one_or_none()


def _new_pack(session: Session, opened: packs.Pack, digest: str, size: int) -> Pack:
    row = Pack(
        name=opened.name,
        domain=opened.domain,
        digest=digest,
        size=size,
        images=len(opened),
        classes=len(opened.classes),
    )
    session.add(row)
    session.flush()
    return row


def _details(opened: packs.Pack) -> dict[str, Any]:
    """What the pages show of a pack without opening its file."""
    return {
        "class_counts": dict(zip(opened.classes, map(len, opened.class_rows), strict=True)),
        "super_classes": len(set(opened.super_classes) - {""}),
        "description": opened.meta.description,
        "licence": opened.meta.licence,
        "source": opened.meta.source,
    }


def create_pool(
    session: Session,
    *,
    slug: str,
    name: str,
    owner_id: str,
    description: str = "",
    competition_id: str | None = None,
) -> Pool:
    """Create a pool without versions, of a person or of a competition."""
    check_slug(slug)
    if session.scalar(select(Pool.id).where(Pool.slug == slug)) is not None:
        raise Conflict(f"There is a pool “{slug}” already.", field="slug")
    pool = Pool(
        slug=slug, name=name, owner_id=owner_id, description=description, competition_id=competition_id
    )
    session.add(pool)
    session.flush()
    return pool


def digest_of_packs(digests: Iterable[str]) -> str:
    """What a pool version is known by: the digest of its packs' digests, in their order."""
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def create_pool_version(
    session: Session, pool: Pool, pack_rows: Sequence[Pack], *, created_by: str, note: str = ""
) -> PoolVersion:
    """A new version of a pool with these packs, in this order."""
    if not pack_rows:
        raise Invalid("A pool needs at least one dataset.")
    last = session.scalar(select(func.max(PoolVersion.number)).where(PoolVersion.pool_id == pool.id)) or 0
    version = PoolVersion(
        pool_id=pool.id,
        number=last + 1,
        digest=digest_of_packs(row.digest for row in pack_rows),
        note=note,
        created_by=created_by,
        entries=[PoolPack(position=place, pack_id=row.id) for place, row in enumerate(pack_rows)],
    )
    session.add(version)
    session.flush()
    return version
