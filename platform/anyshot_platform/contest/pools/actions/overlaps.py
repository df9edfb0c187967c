"""Images that two datasets have both: how many, in which pools, and a few of them by name."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, computed_field
from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session

from anyshot_core.data.fingerprints import Overlap
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.pools.actions.uses import (
    TESTED,
    USED,
    competitions_using,
    is_over,
    of_whose_it_is,
    tests,
)
from anyshot_platform.contest.pools.images import fingerprints_of, overlap_of, repeats_of
from anyshot_platform.contest.pools.models import Pack, Pool, PoolPack, PoolVersion
from anyshot_platform.foundation.filters import count, decimal, join_texts
from anyshot_platform.judging.visibility.pools import readable
from anyshot_platform.people.users.viewer import Viewer

EXAMPLES = 3
Placed = tuple[Pack, str]  # a pack, and the short name of a pool that holds it


@dataclass(frozen=True)
class Shared:
    """Images of a dataset that another has too, or that look like one of it."""

    dataset: str
    other: str
    pool: Annotated[str, Field(description="short name of a pool that holds the other")]
    equal: Annotated[
        int,
        Field(description="images of the dataset whose pixels are the same as those of one of the other"),
    ]
    near: Annotated[
        int,
        Field(description="images of the dataset that are not equal to one of the other, but look like one"),
    ]
    examples: tuple[str, ...]

    @computed_field
    @property
    def words(self) -> str:
        """“2 images of A are also in B (pool p), and 1 looks like one of it: image 3 (cat) is image 7 (dog)”."""
        be, look = "is" if self.equal == 1 else "are", "looks" if self.near == 1 else "look"
        equal = f"{count(self.equal, 'image')} of {self.dataset} {be} in {self.other} too (pool {self.pool})"
        alike = f"{look} like one of {self.other}"
        near = f"{count(self.near, 'image')} of {self.dataset} {alike} (pool {self.pool})"
        also_near = f"{count(self.near, 'image')} {alike}"
        what = _both(equal, also_near) if self.equal and self.near else equal if self.equal else near
        return f"{what}: {join_texts(self.examples, by=', ')}."


def _both(equal: str, near: str) -> str:
    return f"{equal}, and {near}"


def _pairs(found: Overlap) -> list[tuple[list[int], bool]]:
    """Rows of two images, and whether they are equal or only look alike."""
    equal = [(pair, True) for pair in found.equal.tolist()]
    return equal + [(pair, False) for pair in found.near.tolist()]


def _example(one: str, other: str, *, equal: bool) -> str:
    if equal:
        return f"{one} is {other}"
    return f"{one} looks like {other}"


def find_shared(session: Session, ones: Sequence[Pack], others: Sequence[Placed]) -> Iterator[Shared]:
    """What each of some datasets shares with each of others; a dataset is not compared with itself."""
    for one in ones:
        for other, pool in others:
            found = overlap_of(session, one, other) if one.id != other.id else None
            if found is not None and len(found.equal) + len(found.near):
                yield describe(session, one, other, pool, found)


def describe(session: Session, one: Pack, other: Pack, pool: str, found: Overlap) -> Shared:
    """What two datasets share, with the first few images by name."""
    names, others = fingerprints_of(session, one), fingerprints_of(session, other)
    examples = tuple(
        _example(names.name(row), others.name(place), equal=equal)
        for (row, place), equal in _pairs(found)[:EXAMPLES]
    )
    return Shared(one.name, other.name, pool, len(found.equal), len(found.near), examples)


def packs_of(session: Session, version_id: str | None) -> list[Pack]:
    """The packs of a version of a pool, by name."""
    query = select(Pack).join(PoolPack, PoolPack.pack_id == Pack.id)
    return list(session.scalars(query.where(PoolPack.pool_version_id == version_id).order_by(Pack.name)))


def all_packs(session: Session, pool: Pool) -> list[Pack]:
    """The packs of all versions of a pool."""
    query = (
        select(Pack)
        .join(PoolPack, PoolPack.pack_id == Pack.id)
        .join(PoolVersion, PoolVersion.id == PoolPack.pool_version_id)
        .where(PoolVersion.pool_id == pool.id)
        .distinct()
    )
    return sorted(session.scalars(query), key=lambda pack: pack.name)


def public_packs(session: Session) -> list[Placed]:
    """The packs that everybody can download, each with one of its pools."""
    return _placed(session, Pool.published_at.is_not(None))


def _placed(session: Session, which: ColumnElement[bool]) -> list[Placed]:
    rows = session.execute(
        select(Pack, Pool.slug)
        .join(PoolPack, PoolPack.pack_id == Pack.id)
        .join(PoolVersion, PoolVersion.id == PoolPack.pool_version_id)
        .join(Pool, Pool.id == PoolVersion.pool_id)
        .where(which, Pool.deleted_at.is_(None))
        .order_by(Pack.name, Pool.slug.desc())
    )
    return list({pack.id: (pack, slug) for pack, slug in rows}.values())


@dataclass(frozen=True)
class Repeated:
    """Images that one dataset has twice, or that look like another one of it: a warning, one task may draw both."""

    dataset: str
    equal: int
    near: int
    relabelled: Annotated[int, Field(description="pairs of these that have two classes")]
    examples: tuple[str, ...]

    @computed_field
    @property
    def words(self) -> str:
        """“3 images of A are in it twice, and 1 looks like another one; 2 pairs are of two classes: …”."""
        equal = (
            f"1 image of {self.dataset} is in it twice"
            if self.equal == 1
            else f"{decimal(self.equal)} images of {self.dataset} are in it twice"
        )
        near = (
            f"1 image of {self.dataset} looks like another one of it"
            if self.near == 1
            else f"{decimal(self.near)} images of {self.dataset} look like another one of it"
        )
        also_near = (
            "1 image looks like another one of it"
            if self.near == 1
            else f"{decimal(self.near)} images look like another one of it"
        )
        classes = (
            "1 pair of two classes"
            if self.relabelled == 1
            else f"{decimal(self.relabelled)} pairs of two classes"
        )
        what = _both(equal, also_near) if self.equal and self.near else equal if self.equal else near
        what = join_texts([what, classes if self.relabelled else ""], by="; ")
        return f"{what}: {join_texts(self.examples, by=', ')}."


def find_repeated(session: Session, packs: Sequence[Pack]) -> Iterator[Repeated]:
    """What each of these datasets holds twice."""
    for pack in packs:
        found = repeats_of(session, pack)
        if found is None or not len(found.equal) + len(found.near):
            continue
        names = fingerprints_of(session, pack)
        pairs = _pairs(found)
        examples = tuple(
            _example(names.name(row), names.name(place), equal=equal)
            for (row, place), equal in pairs[:EXAMPLES]
        )
        relabelled = sum(bool(names.labels[row] != names.labels[place]) for (row, place), _ in pairs)
        yield Repeated(pack.name, len(found.equal), len(found.near), relabelled, examples)


@dataclass(frozen=True)
class PoolOverlaps:
    """The images of a pool, compared with those that must not be the same."""

    compared: Annotated[int, Field(description="datasets outside of the pool that it was compared with")]
    waiting: Annotated[tuple[str, ...], Field(description="datasets whose images have no fingerprints yet")]
    shared: tuple[Shared, ...]
    repeated: tuple[Repeated, ...]


def compare_pool(session: Session, pool: Pool, version: PoolVersion, viewer: Viewer) -> PoolOverlaps:
    """A version of a pool, compared within itself, with all public data, and with what its competitions use.

    Of the latter with what the viewer may look into: who lent a pool organizes none of those that use it.
    """
    own = [entry.pack for entry in version.entries]
    used = (
        select(PoolVersion.id)
        .select_from(Phase)
        .join(PhaseVersion, PhaseVersion.phase_id == Phase.id)
        .join(PoolVersion, USED)
        .where(Phase.competition_id.in_(competitions_using(session, pool)), Phase.deleted_at.is_(None))
    )
    known = {pack.id for pack in own}
    seen = and_(PoolVersion.id.in_(used), readable(viewer))
    others = _placed(session, or_(Pool.published_at.is_not(None), seen))
    others = [(pack, slug) for pack, slug in others if pack.id not in known]
    inside = [
        shared
        for place, pack in enumerate(own)
        for shared in find_shared(session, [pack], [(other, pool.slug) for other in own[place + 1 :]])
    ]
    waiting = tuple(pack.name for pack in (*own, *(pack for pack, _ in others)) if pack.fingerprints is None)
    shared = (*inside, *find_shared(session, own, others))
    return PoolOverlaps(len(others), waiting, shared, tuple(find_repeated(session, own)))


def phases_that_show(session: Session, pool: Pool, packs: Sequence[Pack]) -> list[tuple[Phase, Shared]]:
    """The phases that have not ended and test on images of these packs, in competitions of those whose pool it is.

    Further evaluations test on images too.
    """
    rows = session.execute(
        select(Phase, PoolVersion.id, Pool.slug)
        .join(PhaseVersion, PhaseVersion.phase_id == Phase.id)
        .join(Competition, Competition.id == Phase.competition_id)
        .join(PoolVersion, TESTED)
        .join(Pool, Pool.id == PoolVersion.pool_id)
        .where(of_whose_it_is(pool), tests(), Pool.published_at.is_(None), Pool.id != pool.id)
        .distinct()
    )
    return [
        (phase, shared)
        for phase, version_id, slug in rows
        if not is_over(phase)
        for shared in find_shared(session, packs, [(pack, slug) for pack in packs_of(session, version_id)])
        if shared.equal
    ]
