"""The parts that a run is split into: shards of its tasks, or one for each dataset, with a learner of its own.

Shards share one meta-training and its budget. Where a phase goes dataset by dataset, every part is an evaluation by
itself: it trains on what the protocol leaves of its dataset, and is tested on the tasks of that dataset.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_core.protocols.keys import Seed
from anyshot_core.protocols.task import tasks_of_dataset
from anyshot_core.wire.verdicts import Cause
from anyshot_core.wire.worker_api import JobKind
from anyshot_platform.phases.models import PhaseVersion
from anyshot_platform.pools.models import PoolPack
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.states import ENDED


def count_parts(session: Session, version: PhaseVersion) -> int:
    """Into how many parts a version splits each seeded run; 1 where it splits none."""
    if not version.each_dataset:
        return max(1, min(version.shards, version.tasks))
    packs = select(func.count()).where(PoolPack.pool_version_id == version.meta_test_pool_version_id)
    return max(1, session.scalar(packs) or 0)


def shard_bounds(tasks: int, shards: int, index: int) -> tuple[int, int]:
    """The task indices [start, stop) of a shard; sizes differ by at most one."""
    return tasks * index // shards, tasks * (index + 1) // shards


def count_tasks(version: PhaseVersion, test_seed: Seed, parts: int, part: int) -> int:
    """How many of a version's tasks belong to a part."""
    if version.each_dataset:
        return len(tasks_of_dataset(test_seed, range(version.tasks), parts, part))
    start, stop = shard_bounds(version.tasks, parts, part)
    return stop - start


def goes_by_dataset(run: Run) -> bool:
    """Whether this run is the part of one dataset."""
    return run.phase_version.each_dataset and run.kind not in (JobKind.SMOKE, JobKind.ANALYSE)


def dataset_of(run: Run) -> int | None:
    """Place in the meta-test pool of the dataset that this run is of; None where it is of all."""
    return (run.shard_index or 0) if goes_by_dataset(run) else None


def shard_of(run: Run, tasks: int) -> tuple[int, int] | None:
    """The task indices [start, stop) of this run; None where it has all, or those of a dataset."""
    if run.shard_index is None or goes_by_dataset(run):
        return None
    return shard_bounds(tasks, run.shard_count, run.shard_index)


def failed_alone(run: Run) -> bool:
    """Whether this is a dataset's part that the participant's code failed on, where the ranking rule forgives that.

    It has the worst rank on this dataset (NeurIPS'21); its other datasets count.
    """
    failed = run.state in ENDED and run.cause == Cause.PARTICIPANT
    return failed and goes_by_dataset(run) and run.phase_version.rule.forgives_datasets


def deciding(runs: Sequence[Run]) -> list[Run]:
    """Those that decide what becomes of a submission: all but what failed alone beside others of the same seed."""
    alive = {run.seed_index for run in runs if not failed_alone(run)}
    return [run for run in runs if run.seed_index not in alive or not failed_alone(run)]


def run_budget(run: Run) -> float:
    """Seconds of the participant's own time that this run may use; shards have theirs in common."""
    if run.kind == JobKind.SMOKE and run.submission is not None:
        return run.submission.phase.smoke_seconds
    return run.phase_version.run_seconds * share_of_dataset(run)


def share_of_dataset(run: Run) -> float:
    """Which share of a seeded run's time this part has: all of it, unless datasets share it equally."""
    shared = goes_by_dataset(run) and not run.phase_version.budget_each_dataset
    return 1 / run.shard_count if shared else 1.0
