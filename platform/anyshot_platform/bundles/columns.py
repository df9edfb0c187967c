"""From the description of a phase to the columns of its rows."""

from __future__ import annotations

import secrets
from typing import Any

from sqlalchemy import null

from anyshot_core.protocols.keys import draw_root
from anyshot_platform.bundles.schema import PhaseSpec
from anyshot_platform.pools.models import PoolVersion
from anyshot_platform.sight.phases import shown_columns


def version_values(spec: PhaseSpec, pools: dict[str, PoolVersion]) -> dict[str, Any]:
    """The columns of a phase version; training seeds and the key are drawn where the description leaves them out."""
    tasks, machine, runs = spec.tasks, spec.machine, spec.scoring.runs
    train, test = pools.get(tasks.meta_train or ""), pools.get(tasks.meta_test or "")
    return {
        "meta_train_pool_version_id": train.id if train else None,
        "meta_test_pool_version_id": test.id if test else None,
        "protocol": tasks.protocol,
        "tasks": tasks.count,
        "train_seeds": tasks.train_seeds or draw_seeds(runs),
        "test_seeds": tasks.test_seeds,
        "root": tasks.key or draw_root().hex(),
        "same_test_tasks": tasks.same_test_tasks or _all_equal(tasks.test_seeds),
        "query_order": tasks.query_order,
        "ranking_rule": spec.scoring.ranking,
        "run_seconds": spec.budget.run,
        "meta_train_seconds": spec.budget.meta_train,
        "task_seconds": spec.budget.task,
        "hardware_class": machine.hardware,
        "image": machine.image,
        "memory_bytes": machine.memory,
        "cpus": machine.cpus,
        "processes": machine.processes,
        "scratch_bytes": machine.scratch,
        "output_bytes": machine.output,
        "gpus": machine.gpus,
        "isolated_tasks": tasks.isolated,
        "keep_learner": tasks.keep_learner,
        "shards": tasks.shards,
        "each_dataset": tasks.each_dataset,
        "budget_each_dataset": spec.budget.each_dataset,
    }


def draw_seeds(runs: int) -> list[int]:
    """Training seeds, one a run."""
    return [secrets.randbelow(2**31) for _ in range(runs)]


def _all_equal(seeds: list[int]) -> bool:
    return len(seeds) > 1 and len(set(seeds)) == 1


def _or_null(value: int | None) -> Any:
    """Unlimited must be written as NULL: for a plain None the table's default would be taken."""
    return null() if value is None else value


def phase_values(spec: PhaseSpec, zone: str) -> dict[str, Any]:
    """The columns of a phase that may change at any time."""
    return {
        "slug": spec.key,
        "name": spec.title,
        "description": spec.description,
        "kind": spec.kind,
        "starts_at": spec.start,
        "ends_at": spec.end,
        "time_zone": zone,
        "accepts_uploads": spec.accepts_uploads,
        "quota_day": _or_null(spec.quota.per_day),
        "quota_phase": _or_null(spec.quota.total),
        "quota_concurrent": _or_null(spec.quota.running),
        "cancelled_counts": spec.quota.cancelled_counts,
        "priority": spec.priority,
        "board_shows": spec.scoring.board_shows,
        "team_chooses": spec.scoring.team_chooses,
        **shown_columns(spec.shown.model_dump()),
        "smoke_tasks": spec.smoke.tasks,
        "smoke_seconds": spec.smoke.budget,
        "smoke_quota_day": _or_null(spec.smoke.per_day),
    }
