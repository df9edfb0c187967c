"""What owners of pools do: put packs in, look at them, publish."""

import io
from collections.abc import Sequence

import numpy as np
from PIL import Image
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.pools.actions.overlaps import phases_that_show
from anyshot_platform.contest.pools.actions.uses import phases_testing_on
from anyshot_platform.contest.pools.images import opened
from anyshot_platform.contest.pools.models import Pack, Pool, PoolPack, PoolVersion
from anyshot_platform.contest.pools.service import create_pool_version, digest_of_packs
from anyshot_platform.foundation.errors import Conflict, NotFound
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.visibility.pools import changeable, readable
from anyshot_platform.people.users.viewer import Viewer

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


def why_not_put(session: Session, pool: Pool, rows: Sequence[Pack]) -> list[str]:
    """What keeps the pool from having a version with these packs, as sentences."""
    if not rows:
        return ["A pool needs at least one dataset."]
    names = [row.name for row in rows]
    twice = sorted({name for name in names if names.count(name) > 1})
    found = [f"A pool holds a dataset once: {', '.join(twice)} is there twice."] if twice else []
    waiting, digest = waiting_version(session, pool), digest_of_packs(row.digest for row in rows)
    if waiting is not None and waiting.digest and waiting.digest != digest:
        words = (
            "These are not the packs that the competition names: the digest of its pool is "
            f"{waiting.digest[:12]}…, of these {digest[:12]}…."
        )
        found.append(words)
    return found + (_secrets(session, pool, rows) if pool.published_at is not None else [])


def put_packs(session: Session, pool: Pool, rows: Sequence[Pack], note: str, actor_id: str) -> PoolVersion:
    """A version with these packs. A pool that waits for its first packs gets them in the version that phases name.

    Raises `Conflict` with everything that is in the way.
    """
    problems = why_not_put(session, pool, rows)
    if problems:
        raise Conflict(join_texts(problems))
    waiting = waiting_version(session, pool)
    made = create_pool_version(session, pool, rows, created_by=actor_id, note=note)
    if waiting is None:
        return made
    _fill(session, waiting, made)
    return waiting


def waiting_version(session: Session, pool: Pool) -> PoolVersion | None:
    """The version that phases name already and that has no packs yet."""
    newest = list_versions(session, pool)
    return newest[0] if newest and not newest[0].entries else None


def _secrets(session: Session, pool: Pool, rows: Sequence[Pack]) -> list[str]:
    """What a pool that is public would show of what a phase tests on in secret."""
    known = {entry.pack_id for version in list_versions(session, pool) for entry in version.entries}
    new = [row for row in rows if row.id not in known]
    found = []
    if new and phases_testing_on(session, pool, new):
        found.append(
            "This pool is public, and a phase that has not ended tests on one of these datasets: "
            "everybody would have its labels. Hide the pool first, or leave the dataset out."
        )
    return found + [
        f"This pool is public, and “{phase.name}” tests on the same images. {shared.words}"
        for phase, shared in phases_that_show(session, pool, new)
    ]


def _fill(session: Session, waiting: PoolVersion, made: PoolVersion) -> None:
    """Move the packs of a new version into the one that waited, which phases refer to already."""
    pack_ids = [entry.pack_id for entry in made.entries]
    digest, note = made.digest, made.note
    session.delete(made)
    session.flush()
    waiting.entries = [PoolPack(position=place, pack_id=pack_id) for place, pack_id in enumerate(pack_ids)]
    waiting.digest, waiting.note = digest, note
    session.flush()


def merged(before: Sequence[Pack], packs: Sequence[Pack]) -> list[Pack]:
    """The packs of a version once each new one stands in the place of the dataset of its name, or at the end."""
    new = {pack.name: pack for pack in packs}
    return [*[new.pop(row.name, row) for row in before], *new.values()]


def newest_packs(session: Session, pool: Pool) -> list[Pack]:
    """The packs of the newest version, in their order."""
    versions = list_versions(session, pool)
    return [entry.pack for entry in versions[0].entries] if versions else []


def combined_packs(session: Session, pool: Pool, viewer: Viewer) -> list[Pack]:
    """The packs of the pools that this one combines; raises `NotFound` for one that the viewer may not look into."""
    rows: list[Pack] = []
    for slug in pool.combines:
        found = newest_packs(session, find_pool(session, viewer, slug))
        if not found:
            raise Conflict(
                f"The pool {slug} has no packs yet: uploaded packs count once a version of it holds them."
            )
        rows += found
    return rows


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
