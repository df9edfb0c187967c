"""Packs come in, pools are put together."""

import hashlib
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_core.data.digests import digest_file
from anyshot_platform.contest.pools.models import Pack, Pool, PoolPack, PoolVersion
from anyshot_platform.contest.pools.rights import note_keeper
from anyshot_platform.foundation.artifacts.service import keep_file
from anyshot_platform.foundation.errors import Conflict, Invalid
from anyshot_platform.foundation.isolated_parsing.service import CPU_SECONDS, run_confined
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.slugs import check_slug

_SECONDS_A_GIB = 30  # of CPU: hashes of all images, and their fingerprints


class BadPackFile(Invalid):
    """The file is no pack, or a damaged one."""

    code = "bad_pack"


def add_pack(services: Services, path: Path, user_id: str | None = None) -> Pack:
    """Check a pack file, store it, and return its row; a pack that is known already is not stored again.

    The user who brought the bytes may put the pack into pools from now on (`rights.find_packs`).
    """
    with tempfile.TemporaryDirectory(prefix="anyshot-pack-") as folder:
        prints = Path(folder) / "fingerprints"
        read = _read_confined(path, prints)
        digest = digest_file(path)
        keep_file(services, path, digest)
        fingerprints = keep_file(services, prints).digest
    with services.database.writing() as session:
        row = session.scalars(select(Pack).where(Pack.digest == digest)).one_or_none()
        if row is None:
            row = Pack(digest=digest, size=path.stat().st_size, fingerprints=fingerprints, **read)
            session.add(row)
            session.flush()
        if user_id is not None:
            note_keeper(session, row, user_id)
        return row


def _read_confined(path: Path, prints: Path) -> dict[str, Any]:
    """The columns that a pack's row has of its file; the fingerprints of its images go into the file `prints`."""
    size = path.stat().st_size
    answer = run_confined(
        "sent_pack",
        path=str(path),
        fingerprints=str(prints),
        mapped_bytes=size,
        cpu_seconds=CPU_SECONDS + _SECONDS_A_GIB * (size >> 30),
    )
    if "bad" in answer:
        raise BadPackFile(answer["bad"].replace(str(path), "This file"))
    return answer


def newest_version(session: Session, slug: str) -> PoolVersion | None:
    """The newest version of a pool that is not deleted."""
    return session.scalars(
        select(PoolVersion)
        .join(Pool, Pool.id == PoolVersion.pool_id)
        .where(Pool.slug == slug, Pool.deleted_at.is_(None))
        .order_by(PoolVersion.number.desc())
        .limit(1)
    ).one_or_none()


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
