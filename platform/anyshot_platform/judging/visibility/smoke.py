"""What shows images with their labels, a smoke test or a full log, is of data that participants can download anyway."""

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from anyshot_core.wire.worker_api import LogPolicy
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.states import VersionState
from anyshot_platform.contest.pools.models import PoolPack, PoolVersion
from anyshot_platform.contest.pools.rights import is_public
from anyshot_platform.foundation.errors import Conflict, Invalid
from anyshot_platform.judging.visibility.logs import wanted_logs


class NoSmokeTest(Conflict):
    """The phase has no public data to try a submission on."""

    code = "no_smoke_test"


def smoke_pool(session: Session, phase: Phase) -> PoolVersion | None:
    """The pool that smoke tests of a phase are on; None where it offers none, or must not."""
    pool = _named(session, phase)
    if pool is None or phase.smoke_tasks < 1 or not is_public(pool) or shared_with(session, phase, pool):
        return None
    return pool


def require_smoke_pool(session: Session, phase: Phase) -> PoolVersion:
    """The pool of a phase's smoke tests; raises `NoSmokeTest`."""
    pool = smoke_pool(session, phase)
    if pool is None:
        raise NoSmokeTest(
            f"“{phase.name}” offers no smoke test. `anyshot dry-run` tries a submission on your machine."
        )
    return pool


def smoke_problem(session: Session, phase: Phase, *, may_wait: bool = False) -> str | None:
    """For organizers: why the pool that a phase names shows too much; one that `may_wait` is published later."""
    pool = _named(session, phase)
    if pool is None:
        return None
    tested = shared_with(session, phase, pool)
    if tested:
        return (
            f"{pool.pool.slug} shares datasets with {tested}, from which hidden tasks are "
            "drawn: a smoke test would show their images and labels. Name another pool, or "
            "none: then there is no smoke test."
        )
    if not is_public(pool) and not may_wait:
        return (
            f"{pool.pool.slug} is not public, and a smoke test shows its images and labels. "
            "Publish the pool first, or name none: then there is no smoke test."
        )
    return None


def require_nothing_hidden_shown(
    session: Session, phase: Phase, version: PhaseVersion, before: str | None
) -> None:
    """Raise `Invalid` if the phase's smoke test or its logs would show data that is hidden.

    A smoke pool that the phase had before (`before`, the version's id) may wait for its publication: until then there
    is no smoke test.
    """
    session.flush()
    problem = smoke_problem(session, phase, may_wait=phase.smoke_pool_version_id == before)
    if problem is not None:
        raise Invalid(problem, field="smoke.pool")
    if wanted_logs(phase) == LogPolicy.EVERYTHING and not is_public(_tested(session, version)):
        raise Invalid(
            (
                "Logs of everything show the hidden tasks, and the meta-test pool is not public. Show "
                "the output of meta-training, or publish the pool."
            ),
            field="shown.logs",
        )


def shared_with(session: Session, phase: Phase, pool: PoolVersion) -> str:
    """The names of the pools that the competition tests on, in any phase, and that hold a pack of this one."""
    mine = select(PoolPack.pack_id).where(PoolPack.pool_version_id == pool.id)
    query = (
        select(PoolVersion)
        .join(PhaseVersion, PhaseVersion.meta_test_pool_version_id == PoolVersion.id)
        .join(Phase, Phase.id == PhaseVersion.phase_id)
        .join(PoolPack, PoolPack.pool_version_id == PoolVersion.id)
        .where(
            Phase.competition_id == phase.competition_id,
            Phase.deleted_at.is_(None),
            or_(PhaseVersion.state != VersionState.RETIRED, PhaseVersion.live_at.is_not(None)),
            PoolPack.pack_id.in_(mine),
        )
    )
    return ", ".join(sorted({found.pool.slug for found in session.scalars(query)}))


def _named(session: Session, phase: Phase) -> PoolVersion | None:
    return session.get(PoolVersion, phase.smoke_pool_version_id) if phase.smoke_pool_version_id else None


def _tested(session: Session, version: PhaseVersion) -> PoolVersion | None:
    found = version.meta_test_pool_version_id
    return session.get(PoolVersion, found) if found else None
