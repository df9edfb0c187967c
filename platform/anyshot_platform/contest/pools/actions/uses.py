"""Where the data of a pool are in use, and which phase keeps them secret still."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.models import EvaluationPool, Phase, PhaseVersion
from anyshot_platform.contest.phases.service import is_extended, status_of
from anyshot_platform.contest.phases.states import PhaseStatus, VersionState
from anyshot_platform.contest.pools.models import Pack, Pool, PoolPack, PoolVersion
from anyshot_platform.judging.visibility.access import listed_for, organized_by
from anyshot_platform.judging.visibility.phases import publication_of
from anyshot_platform.people.users.viewer import Viewer

# A version of a pool that a version of a phase trains or tests on.
ASSIGNED = or_(
    PoolVersion.id == PhaseVersion.meta_train_pool_version_id,
    PoolVersion.id == PhaseVersion.meta_test_pool_version_id,
)

# One that a further evaluation of the phase tests on.
FURTHER = PoolVersion.id.in_(
    select(EvaluationPool.pool_version_id).where(EvaluationPool.phase_id == Phase.id).correlate(Phase)
)

# One that decides scores of the phase, those of further evaluations too; its labels stay secret meanwhile.
TESTED = or_(PoolVersion.id == PhaseVersion.meta_test_pool_version_id, FURTHER)

# The same, or one that the phase's smoke tests are on. These keep nothing secret: they need the pool to be public.
USED = or_(ASSIGNED, FURTHER, PoolVersion.id == Phase.smoke_pool_version_id)


LIVE = and_(PhaseVersion.number == Phase.live_version, Phase.deleted_at.is_(None))


def uses_of(
    session: Session, pool: Pool, viewer: Viewer, *conditions: ColumnElement[bool]
) -> list[tuple[str, str, int]]:
    """Where a pool is used, for smoke tests too: (competition, phase, version of the pool).

    As far as lists show it to the viewer; `conditions` are on phases and their versions.
    """
    rows = session.execute(
        select(Competition.title, Phase.name, PoolVersion.number)
        .join(Phase, Phase.competition_id == Competition.id)
        .join(PhaseVersion, PhaseVersion.phase_id == Phase.id)
        .join(PoolVersion, USED)
        .where(PoolVersion.pool_id == pool.id, listed_for(viewer), *conditions)
        .order_by(Competition.title, Phase.name, PoolVersion.number)
        .distinct()
    )
    return [(title, phase, number) for title, phase, number in rows]


def first_use(session: Session, pool: Pool) -> Phase | None:
    """A phase that uses the pool; a deleted one, which can be restored, does so too."""
    using = select(Phase).join(PhaseVersion, PhaseVersion.phase_id == Phase.id).join(PoolVersion, USED)
    return session.scalars(using.where(PoolVersion.pool_id == pool.id).limit(1)).first()


def owner_of(session: Session, pool: Pool, viewer: Viewer) -> Competition | None:
    """The competition that a pool belongs to; None where it belongs to a person, or lists do not show it."""
    return session.scalars(
        select(Competition).where(Competition.id == pool.competition_id, listed_for(viewer))
    ).one_or_none()


def of_whose_it_is(pool: Pool) -> ColumnElement[bool]:
    """The competitions of those whose pool it is, as a condition.

    What others test on is not looked at where somebody publishes: the answer would tell strangers what it is.
    """
    if pool.competition_id is not None:
        return Competition.id == pool.competition_id
    return Competition.id.in_(organized_by(pool.owner_id))


def competitions_using(session: Session, pool: Pool) -> list[str]:
    """The ids of the competitions a phase of which uses the pool, for smoke tests too."""
    rows = session.scalars(
        select(Phase.competition_id)
        .join(PhaseVersion, PhaseVersion.phase_id == Phase.id)
        .join(PoolVersion, USED)
        .where(PoolVersion.pool_id == pool.id)
        .distinct()
    )
    return list(rows)


def phases_holding(session: Session, pool: Pool) -> Sequence[Phase]:
    """The phases that train or test on the pool, in further evaluations too: it is published after them.

    Deleted ones and those of deleted competitions are left out.
    """
    return _phases_with(session, pool, or_(ASSIGNED, FURTHER))


def phases_trying(session: Session, pool: Pool) -> Sequence[Phase]:
    """The phases whose smoke tests are on the pool: there are none while it is hidden."""
    return _phases_with(session, pool, PoolVersion.id == Phase.smoke_pool_version_id)


def _phases_with(session: Session, pool: Pool, use: ColumnElement[bool]) -> Sequence[Phase]:
    return session.scalars(
        select(Phase)
        .join(Competition, Competition.id == Phase.competition_id)
        .join(PhaseVersion, PhaseVersion.phase_id == Phase.id)
        .join(PoolVersion, use)
        .where(PoolVersion.pool_id == pool.id, Phase.deleted_at.is_(None), Competition.deleted_at.is_(None))
        .distinct()
    ).all()


def phases_testing_on(session: Session, pool: Pool, added: Sequence[Pack] = ()) -> Sequence[Phase]:
    """The phases that have not ended and test on a dataset of the pool, in further evaluations too.

    By this pool, or in a competition of those whose pool it is by another that holds it. `added` are datasets that are
    about to be put in.
    """
    held = (
        select(PoolPack.pack_id)
        .join(PoolVersion, PoolVersion.id == PoolPack.pool_version_id)
        .where(PoolVersion.pool_id == pool.id)
    )
    named = [pack.id for pack in added]
    tested = (
        select(Phase)
        .join(Competition, Competition.id == Phase.competition_id)
        .join(PhaseVersion, PhaseVersion.phase_id == Phase.id)
        .join(PoolVersion, TESTED)
        .join(PoolPack, PoolPack.pool_version_id == PoolVersion.id)
        .where(
            PoolPack.pack_id.in_(named) if named else PoolPack.pack_id.in_(held),
            or_(PoolVersion.pool_id == pool.id, of_whose_it_is(pool)),
            tests(),
        )
        .distinct()
    )
    return [phase for phase in session.scalars(tested) if not is_over(phase)]


def tests() -> ColumnElement[bool]:
    """Of a version of a phase of a competition: whether something is scored by it, or can be."""
    return and_(
        PhaseVersion.state != VersionState.RETIRED,
        or_(Phase.accepts_uploads, Phase.gate_phase_id.is_not(None)),
        Phase.deleted_at.is_(None),
        Competition.deleted_at.is_(None),
    )


def is_over(phase: Phase) -> bool:
    """Whether a phase's time is over, and its results are published where they have to be."""
    closed = status_of(phase) == PhaseStatus.CLOSED and not is_extended(phase)
    return closed and not publication_of(phase).waits
