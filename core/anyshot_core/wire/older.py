"""How a job is written for a worker of the release before.

Workers of API version 1 refuse a job with any field that they do not know, and stop asking for work when they do. They
get the fields of their own release.
"""

from __future__ import annotations

import json

from anyshot_core.wire.jobs import Job

VERSION_1 = frozenset(
    ("version", "kind", "run_id", "epoch", "attempt", "lease_seconds", "competition", "phase", "submission_id",
     "submission", "meta_train", "meta_test", "protocol", "tasks", "shard", "dataset", "train_seed", "test_seed",
     "budget", "limits", "image", "weights", "log_policy", "isolated_tasks", "hide_dataset_names", "keep_learner",
     "learner", "predictions", "results", "parameters")
)  # fmt: skip


def write_job(job: Job, version: int) -> bytes:
    """The job as JSON that a worker of API version `version` reads."""
    data = job.model_dump(mode="json")
    if version < 2:
        data = {name: value for name, value in data.items() if name in VERSION_1}
    return json.dumps(data).encode()
