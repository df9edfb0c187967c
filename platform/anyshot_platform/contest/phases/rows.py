"""The description of a phase to the columns of its rows, and back."""

import secrets
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.protocols.keys import draw_root
from anyshot_core.wire.message import Message
from anyshot_platform.contest.leagues.models import Gate, League
from anyshot_platform.contest.phases.description import SETTINGS, PhaseSpec
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.pools.models import PoolVersion
from anyshot_platform.foundation.schema.settings import Column, put


def phase_values(spec: PhaseSpec, zone: str) -> dict[str, Any]:
    """The columns of a phase that may change at any time."""
    return _values(spec, Phase) | {"time_zone": zone}


def version_values(spec: PhaseSpec, pools: dict[str, PoolVersion]) -> dict[str, Any]:
    """The columns of a phase version; training seeds and the key are drawn where the description leaves them out."""
    tasks = spec.tasks
    train, test = pools.get(tasks.meta_train or ""), pools.get(tasks.meta_test or "")
    return _values(spec, PhaseVersion) | {
        "meta_train_pool_version_id": train.id if train else None,
        "meta_test_pool_version_id": test.id if test else None,
        "train_seeds": tasks.train_seeds or draw_seeds(spec.scoring.runs),
        "root": tasks.key or draw_root().hex(),
        "same_test_tasks": tasks.same_test_tasks or _all_equal(tasks.test_seeds),
    }


def _values(spec: PhaseSpec, table: type[Phase] | type[PhaseVersion]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for setting in SETTINGS:
        column = setting.mark(Column)
        if column and column.table == table.__tablename__:
            value = setting.value(spec)
            found[column.name] = not value if column.negated else value
    return found


def sent_settings(version: PhaseVersion, message: type[Message]) -> dict[str, Any]:
    """The settings of a version that this part of an assignment has fields for, of those that are sent as they are."""
    columns = [column for setting in SETTINGS if (column := setting.mark(Column)) is not None and column.sent]
    return {
        column.name: getattr(version, column.name)
        for column in columns
        if column.name in message.model_fields
    }


def draw_seeds(runs: int) -> list[int]:
    """Training seeds, one a run."""
    return [secrets.randbelow(2**31) for _ in range(runs)]


def _all_equal(seeds: list[int]) -> bool:
    return len(seeds) > 1 and len(set(seeds)) == 1


def describe_phase(
    session: Session, phase: Phase, zone: str, version: PhaseVersion | None = None
) -> PhaseSpec:
    """A phase with its live version, or with another one, as a file describes it; `zone` is the competition's."""
    version = version or phase.live
    rows: dict[str, Any] = {Phase.__tablename__: phase, PhaseVersion.__tablename__: version}
    data: dict[str, Any] = {}
    for setting in SETTINGS:
        if column := setting.mark(Column):
            value = getattr(rows[column.table], column.name)
            put(data, setting.path, not value if column.negated else value)
    smoke = session.get(PoolVersion, phase.smoke_pool_version_id) if phase.smoke_pool_version_id else None
    for path, pool in (
        ("tasks.meta_train", version.meta_train),
        ("tasks.meta_test", version.meta_test),
        ("smoke.pool", smoke),
    ):
        put(data, path, pool.pool.slug if pool else None)
    put(data, "timezone", None if phase.time_zone == zone else phase.time_zone)
    put(data, "tasks.train_seeds", version.train_seeds)
    put(data, "tasks.key", version.root)
    put(data, "scoring.runs", max(version.seeded_runs, 1))
    put(data, "entries", _entries(session, phase))
    return PhaseSpec.model_validate(data)


def _entries(session: Session, phase: Phase) -> dict[str, Any] | None:
    source = session.get(Phase, phase.gate_phase_id) if phase.gate_phase_id else None
    if source is None or source.deleted_at is not None:
        return None
    rows = session.execute(
        select(Gate, League)
        .join(League, League.id == Gate.league_id)
        .where(Gate.phase_id == phase.id, League.deleted_at.is_(None))
        .order_by(League.position, League.id)
    )
    gates = [{"league": league.slug, "score": gate.score, "note": gate.note} for gate, league in rows]
    return {"phase": source.slug, "gates": gates}
