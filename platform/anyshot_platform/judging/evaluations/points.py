"""What the further evaluations of a phase test on: its points, with the pool of each."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.evaluations import EvaluationPoint, FurtherEvaluation, read_evaluations
from anyshot_core.protocols import ProtocolError
from anyshot_core.protocols.registry import SEEDS
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.pools.models import Pack, PoolPack, PoolVersion
from anyshot_platform.contest.pools.service import newest_version
from anyshot_platform.judging.runs.secrets import roles_of


@dataclass(frozen=True)
class PhasePoint:
    """A point of a phase's evaluation under one version; `tasks` is how many tasks it has."""

    evaluation: FurtherEvaluation
    point: EvaluationPoint
    pool: PoolVersion
    tasks: int

    @property
    def protocol(self) -> dict[str, Any]:
        """How its tasks are drawn, without the split, which is the phase's secret."""
        return {key: value for key, value in self.point.protocol.to_dict().items() if key not in SEEDS}

    @property
    def digest(self) -> str:
        """Of all that decides its tasks but the seed."""
        facts = [self.evaluation.short_name, self.protocol, self.point.domain, self.tasks, self.pool.digest]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def list_evaluations(version: PhaseVersion) -> tuple[FurtherEvaluation, ...]:
    """The further evaluations of a version's phase, in their order."""
    return read_evaluations(version.phase.evaluations)


def list_points(session: Session, version: PhaseVersion) -> list[PhasePoint]:
    """Every point of every evaluation; an evaluation that cannot be made under this version has none."""
    found: list[PhasePoint] = []
    for evaluation in list_evaluations(version):
        try:
            found += points_of(session, version, evaluation)
        except ProtocolError:
            continue  # a draft with other protocols: `contest.phases.actions.further` says it to organizers
    return found


def points_of(session: Session, version: PhaseVersion, evaluation: FurtherEvaluation) -> Iterator[PhasePoint]:
    """The points of one evaluation. Raises `ProtocolError`, also where its pool is not there."""
    roles, pool = roles_of(version), pool_of(session, version, evaluation)
    if roles is None or pool is None:
        raise ProtocolError("The phase has no protocol or no pool to test on yet.")
    for point in evaluation.points(roles, domains_of(session, pool)):
        yield PhasePoint(evaluation, point, pool, evaluation.tasks or version.tasks)


def pool_of(session: Session, version: PhaseVersion, evaluation: FurtherEvaluation) -> PoolVersion | None:
    """The version's own pool, or of the one that is named the version that the phase holds, else the newest.

    Raises `ProtocolError` where the pool is gone.
    """
    if not evaluation.pool:
        return version.meta_test
    held = _held(version.phase).get(evaluation.pool)
    if held is not None and held.pool.deleted_at is None:
        return held
    found = newest_version(session, evaluation.pool)
    if found is None:
        raise ProtocolError(f"There is no pool {evaluation.pool}.")
    return found


def hold_pools(
    session: Session, phase: Phase, *, newest: bool = False, among: Iterable[PoolVersion] = ()
) -> bool:
    """Hold a version of each pool that a phase's evaluations name: the one held, or `among` these, else the newest.

    With `newest` always the newest. Returns whether another version of a pool is held than before.
    """
    before = {} if newest else {row.pool.slug: row for row in among} | _held(phase)
    names = dict.fromkeys(one.pool for one in read_evaluations(phase.evaluations) if one.pool)
    found = [before.get(name) or newest_version(session, name) for name in names]
    held, known = [row for row in found if row is not None], {row.id for row in phase.evaluation_pools}
    phase.evaluation_pools = held
    return {row.id for row in held} != known


def _held(phase: Phase) -> dict[str, PoolVersion]:
    return {row.pool.slug: row for row in phase.evaluation_pools}


def domains_of(session: Session, pool: PoolVersion) -> tuple[str, ...]:
    """The domains of a pool in the order of its datasets."""
    rows = session.scalars(
        select(Pack.domain)
        .join(PoolPack, PoolPack.pack_id == Pack.id)
        .where(PoolPack.pool_version_id == pool.id)
        .order_by(PoolPack.position)
    )
    return tuple(dict.fromkeys(rows))
