"""The parts that a run is split into: shards of its tasks, or one for each dataset, with a learner of its own.

Shards share one meta-training and its budget. Where a phase goes dataset by dataset, every part is an evaluation by
itself: it trains on what the protocol leaves of its dataset, and is tested on the tasks of that dataset.
"""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_core.protocols.keys import Seed
from anyshot_core.protocols.task import tasks_of_dataset
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.contest.pools.models import PoolPack


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
