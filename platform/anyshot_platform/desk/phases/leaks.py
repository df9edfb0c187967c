"""Data that would be trained and tested on at once, or that are public already: errors of a phase's settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.data import pool as packs
from anyshot_core.protocols import PROTOCOLS, ProtocolError, Roles, protocol_from_dict
from anyshot_platform.desk.pools.organizing import opened
from anyshot_platform.errors import Invalid
from anyshot_platform.kernel.storage import STORAGE_KEY
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.pools.models import Pack, Pool, PoolPack, PoolVersion
from anyshot_platform.runs.secrets import complete_protocol, secrets_of


def evaluates(phase: Phase) -> bool:
    """Whether anything is scored in a phase: by uploads, or by entries of another."""
    return phase.accepts_uploads or phase.gate_phase_id is not None


def leaks(session: Session, version: PhaseVersion) -> Iterator[tuple[str, str]]:
    """What of the hidden data of a version would be known, by field."""
    shared = _packs_of_both(session, version)
    if shared and version.train_protocol | version.validation_protocol:
        yield from _leaks_of_roles(session, version, [pack.digest for pack in shared])
    elif shared and not _splits_classes(version):
        yield (
            "tasks.meta_train",
            f"The meta-train and the meta-test pool share {', '.join(pack.name for pack in shared)}: what is trained "
            "on would be tested on. Name another pool, or a protocol that splits the classes of each dataset.",
        )
    for pack, pool in _public_copies(session, version):
        yield (
            "tasks.meta_test",
            f"The meta-test pool is hidden, and its dataset {pack} is in the public pool {pool}: everybody has its "
            "labels.",
        )


def require_no_leak(session: Session, phase: Phase, version: PhaseVersion) -> None:
    """Raise `Invalid` with the first leak of a version."""
    session.flush()
    if not evaluates(phase):
        return
    for field, problem in leaks(session, version):
        raise Invalid(problem, field=field)


def _splits_classes(version: PhaseVersion) -> bool:
    kind = PROTOCOLS.get(str(version.protocol.get("name", "")))
    return kind is not None and kind.splits_datasets


def _leaks_of_roles(
    session: Session, version: PhaseVersion, digests: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """What of the packs of both pools is shown by training or validation, and tested: by their very images."""
    split, storage = secrets_of(version).class_split(), session.info[STORAGE_KEY]
    named = (version.protocol, version.train_protocol, version.validation_protocol)
    try:
        test, train, validation = (
            protocol_from_dict(complete_protocol(one, split)) if one else None for one in named
        )
        if test is None:
            return
        with ExitStack() as files:
            pool = packs.Pool([files.enter_context(opened(storage, digest)) for digest in digests])
            Roles(test, train, validation).require_no_leak(pool, pool)
    except ProtocolError as problem:
        yield "tasks.train_protocol", str(problem)


def _packs_of_both(session: Session, version: PhaseVersion) -> list[Pack]:
    trained = select(PoolPack.pack_id).where(PoolPack.pool_version_id == version.meta_train_pool_version_id)
    query = (
        select(Pack)
        .join(PoolPack, PoolPack.pack_id == Pack.id)
        .where(PoolPack.pool_version_id == version.meta_test_pool_version_id, Pack.id.in_(trained))
    )
    return sorted(session.scalars(query), key=lambda pack: pack.name)


def _public_copies(session: Session, version: PhaseVersion) -> list[tuple[str, str]]:
    """Packs of a hidden meta-test pool that lie in a public pool too: (pack, pool)."""
    tested = (
        select(PoolVersion)
        .join(Pool, Pool.id == PoolVersion.pool_id)
        .where(PoolVersion.id == version.meta_test_pool_version_id, Pool.published_at.is_(None))
    )
    hidden = session.scalars(tested).one_or_none()
    if hidden is None:
        return []
    query = (
        select(Pack.name, Pool.slug)
        .join(PoolPack, PoolPack.pack_id == Pack.id)
        .join(PoolVersion, PoolVersion.id == PoolPack.pool_version_id)
        .join(Pool, Pool.id == PoolVersion.pool_id)
        .where(
            Pack.id.in_(select(PoolPack.pack_id).where(PoolPack.pool_version_id == hidden.id)),
            Pool.published_at.is_not(None),
            Pool.deleted_at.is_(None),
        )
        .distinct()
        .order_by(Pack.name, Pool.slug)
    )
    return [(pack, pool) for pack, pool in session.execute(query)]
