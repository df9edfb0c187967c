"""What a phase is played as: its quotas, its days, and how long its runs take."""

from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.description import PhaseSpec
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.workers.images import count_workers
from anyshot_platform.judging.workers.places import recent_seconds
from anyshot_platform.running.capacity.simulation import Scene

_MEASURED = 1000  # runs
_SHARES = (0.1, 0.2, 0.4, 0.8, 1.0)  # of its budget that a run takes, where none was measured
_WORKERS_2022 = 10
_OPEN_END = 30  # days


def scene_of_phase(session: Session, phase: Phase, teams: int) -> Scene:
    """A phase of this site with the workers it has now; its last runs say how long runs take, or else its budget."""
    version = live_version(session, phase)
    seconds = recent_seconds(session, Run.phase_id == phase.id, limit=_MEASURED)
    return Scene(
        teams=teams,
        workers=count_workers(session, version.hardware_class) or 1,
        days=(phase.ends_at - phase.starts_at).days if phase.ends_at else _OPEN_END,
        seconds=tuple(seconds) or of_budget(version.run_seconds),
        runs=version.seeded_runs * version.shards,
        uploads=(phase.quota_day or 1) if phase.accepts_uploads else 0,
        quota_day=phase.quota_day,
        quota_phase=phase.quota_phase,
        quota_concurrent=phase.quota_concurrent,
    )


def scene_of_bundle(spec: PhaseSpec, teams: int) -> Scene:
    """A phase of a competition that nobody has run here, with the ten workers of 2022."""
    return Scene(
        teams=teams,
        workers=_WORKERS_2022,
        days=(spec.end - spec.start).days if spec.end else _OPEN_END,
        seconds=of_budget(spec.budget.run),
        runs=spec.scoring.runs,
        uploads=(spec.quota.per_day or 1) if spec.accepts_uploads else 0,
        quota_day=spec.quota.per_day,
        quota_phase=spec.quota.total,
        quota_concurrent=spec.quota.running,
    )


def of_budget(seconds: float) -> tuple[float, ...]:
    """Lengths of runs between a tenth of their budget and all of it."""
    return tuple(share * seconds for share in _SHARES)
