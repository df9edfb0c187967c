"""What owners of pools do: put packs in, look at them, publish."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from PIL import Image
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.audit import service as audit
from anyshot_platform.database import now
from anyshot_platform.errors import Conflict, Invalid, NotFound
from anyshot_platform.kernel.storage import Storage
from anyshot_platform.organizers.pools.overlaps import all_packs, phases_that_show
from anyshot_platform.organizers.pools.uses import (
    competitions_using,
    is_over,
    phases_testing_on,
    phases_using,
)
from anyshot_platform.pools.images import opened
from anyshot_platform.pools.models import Pack, Pool, PoolPack, PoolVersion
from anyshot_platform.pools.service import create_pool_version
from anyshot_platform.sight.pools import changeable, readable
from anyshot_platform.users.viewer import Viewer

SHEET_CLASSES = 20
SHEET_IMAGES = 8
_THUMB = 48


def list_pools(session: Session, viewer: Viewer) -> list[Pool]:
    """The pools that the viewer may look into; all of them for site administrators."""
    return list(session.scalars(select(Pool).where(readable(viewer)).order_by(Pool.slug)))


def find_pool(session: Session, viewer: Viewer, slug: str, *, to_change: bool = False) -> Pool:
    """A pool that the viewer may look into, or change; raises `NotFound`."""
    allowed = changeable(viewer) if to_change else readable(viewer)
    pool = session.scalars(select(Pool).where(Pool.slug == slug, allowed)).one_or_none()
    if pool is None:
        raise NotFound("There is no such pool.")
    return pool


def list_versions(session: Session, pool: Pool) -> list[PoolVersion]:
    """The versions of a pool, newest first."""
    query = select(PoolVersion).where(PoolVersion.pool_id == pool.id).order_by(PoolVersion.number.desc())
    return list(session.scalars(query))


def put_packs(session: Session, pool: Pool, rows: Sequence[Pack], note: str, actor_id: str) -> PoolVersion:
    """A version with these packs. A pool that waits for its first packs gets them in the version that phases name."""
    names = [row.name for row in rows]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise Invalid(f"A pool holds a dataset once: {', '.join(sorted(twice))} is there twice.")
    if pool.published_at is not None:
        _require_no_secret(session, pool, rows)
    newest = list_versions(session, pool)
    waiting = newest[0] if newest and not newest[0].entries else None
    made = create_pool_version(session, pool, rows, created_by=actor_id, note=note)
    if waiting is not None:
        if waiting.digest and waiting.digest != made.digest:
            raise Conflict(
                "These are not the packs that the competition names: the digest of its pool is "
                f"{waiting.digest[:12]}…, of these {made.digest[:12]}…."
            )
        _fill(session, waiting, made)
        made = waiting
    _record(session, pool, actor_id, "pool.version", after={"version": made.number, "packs": names})
    return made


def _require_no_secret(session: Session, pool: Pool, rows: Sequence[Pack]) -> None:
    """Raise `Conflict` where a pool that is public would hold what a phase tests on in secret."""
    known = {entry.pack_id for version in list_versions(session, pool) for entry in version.entries}
    new = [row for row in rows if row.id not in known]
    if new and phases_testing_on(session, pool, new):
        raise Conflict(
            "This pool is public, and a phase that has not ended tests on one of these datasets: everybody would have "
            "its labels. Hide the pool first, or leave the dataset out."
        )
    for phase, shared in phases_that_show(session, pool, new):
        raise Conflict(f"This pool is public, and “{phase.name}” tests on the same images. {shared.words}")


def _fill(session: Session, waiting: PoolVersion, made: PoolVersion) -> None:
    """Move the packs of a new version into the one that waited, which phases refer to already."""
    pack_ids = [entry.pack_id for entry in made.entries]
    digest, note = made.digest, made.note
    session.delete(made)
    session.flush()
    waiting.entries = [PoolPack(position=place, pack_id=pack_id) for place, pack_id in enumerate(pack_ids)]
    waiting.digest, waiting.note = digest, note
    session.flush()


def add_or_replace(
    session: Session, pool: Pool, packs: Sequence[Pack], note: str, actor_id: str
) -> PoolVersion:
    """A version in which each pack stands in the place of the dataset of its name, or at the end if there is none.

    Raises `Conflict` where that would be the newest version again.
    """
    before = newest_packs(session, pool)
    new = {pack.name: pack for pack in packs}
    kept = [new.pop(row.name, row) for row in before]
    rows = [*kept, *new.values()]
    if [row.id for row in rows] == [row.id for row in before]:
        names = ", ".join(pack.name for pack in packs)
        raise Conflict(f"The newest version of {pool.slug} holds exactly this already: {names}.")
    replaced = [row.name for row in before if row.id not in {other.id for other in kept}]
    said = [f"{name} replaced" for name in replaced] + [f"{name} added" for name in new]
    return put_packs(session, pool, rows, note or ", ".join(said), actor_id)


def remove_dataset(session: Session, pool: Pool, name: str, note: str, actor_id: str) -> PoolVersion:
    """A version without the dataset of that name; raises `NotFound` if there is none, `Invalid` for the last one."""
    rows = newest_packs(session, pool)
    left = [row for row in rows if row.name != name]
    if len(left) == len(rows):
        raise NotFound(f"The newest version of {pool.slug} holds no dataset {name}.")
    return put_packs(session, pool, left, note or f"{name} removed", actor_id)


def newest_packs(session: Session, pool: Pool) -> list[Pack]:
    """The packs of the newest version, in their order."""
    versions = list_versions(session, pool)
    return [entry.pack for entry in versions[0].entries] if versions else []


def combine(session: Session, pool: Pool, viewer: Viewer) -> PoolVersion:
    """A version made of the packs of the pools that this one combines."""
    rows: list[Pack] = []
    for slug in pool.combines:
        versions = list_versions(session, find_pool(session, viewer, slug))
        if not versions or not versions[0].entries:
            raise Conflict(f"The pool {slug} has no packs yet.")
        rows += [entry.pack for entry in versions[0].entries]
    return put_packs(session, pool, rows, f"combines {', '.join(pool.combines)}", viewer.id)


def publish_by_the_clock(session: Session, pool: Pool, wanted: bool, actor_id: str) -> None:
    """Publish a pool by itself when every competition that uses it is over, or no longer do so."""
    pool.publish_when_over = wanted
    _record(session, pool, actor_id, "pool.publish_when_over", after={"wanted": wanted})


def pools_to_publish(session: Session) -> Sequence[str]:
    """The ids of the pools whose owners want them published as soon as their phases are over."""
    waiting = Pool.publish_when_over, Pool.published_at.is_(None), Pool.deleted_at.is_(None)
    return session.scalars(select(Pool.id).where(*waiting)).all()


def publish_if_over(session: Session, pool_id: str) -> bool:
    """Publish the pool if its phases are all over, and say whether that was done; called by the sweeper.

    A phase is over when its time is, and its results are published where they have to be.
    """
    pool = session.get_one(Pool, pool_id)
    if not _may_be_public(session, pool):
        return False
    pool.published_at = now()
    for where in competitions_using(session, pool):
        _record(session, pool, pool.owner_id, "pool.publish", after={"by": "the clock"}, where=where)
    return True


def _may_be_public(session: Session, pool: Pool) -> bool:
    phases = phases_using(session, pool)
    with_packs = any(version.entries for version in list_versions(session, pool))
    secret = phases_testing_on(session, pool) or phases_that_show(session, pool, all_packs(session, pool))
    return with_packs and bool(phases) and not secret and all(is_over(phase) for phase in phases)


def contact_sheet(storage: Storage, digest: str) -> bytes:
    """A PNG with a row a class (at most 20) and up to eight images of it, as they are handed to learners."""
    with opened(storage, digest) as pack:
        rows = [np.asarray(found)[:SHEET_IMAGES] for found in pack.class_rows[:SHEET_CLASSES]]
        sheet = Image.new("RGB", (SHEET_IMAGES * _THUMB, max(len(rows), 1) * _THUMB), "white")
        for y, found in enumerate(rows):
            for x, index in enumerate(found):
                picture = np.asarray(pack.images[int(index)]).transpose(1, 2, 0)
                thumb = Image.fromarray(np.ascontiguousarray(picture)).resize((_THUMB, _THUMB))
                sheet.paste(thumb, (x * _THUMB, y * _THUMB))
    target = io.BytesIO()
    sheet.save(target, "PNG", optimize=True)
    return target.getvalue()


def _record(
    session: Session,
    pool: Pool,
    actor_id: str,
    action: str,
    after: dict[str, object] | None = None,
    where: str | None = None,
) -> None:
    audit.record(
        session,
        actor_id=actor_id,
        action=action,
        object_type="pool",
        object_id=pool.id,
        competition_id=where,
        after={"slug": pool.slug, **(after or {})},
    )
