"""Checkpoints of a run: the files that an attempt stores while it goes on, from which the next one goes on."""

import hashlib
import json
import re
from typing import Any

from anyshot_core.wire.jobs import Tested

TRAINING = "checkpoint-training.bin"  # a training that lasts
LEARNER = "checkpoint-learner.bin"  # as the sandbox exported it
_ANSWERS = re.compile(r"checkpoint-answers-(\d{6})-(\d{6})\.bin")
# Of a job, what differs between attempts or is only told: a checkpoint is good wherever the rest is the same.
_NOT_IN_KEY = frozenset(
    {"version", "epoch", "attempt", "lease_seconds", "checkpoints", "competition", "phase", "submission_name"}
    | {"log_policy", "hide_dataset_names"}
)


def answers_name(first: int, stop: int) -> str:
    """The file of the answers to the tasks at the places `first` to `stop` - 1 of a job."""
    return f"checkpoint-answers-{first:06}-{stop:06}.bin"


def read_name(name: str) -> tuple[int, int] | None:
    """The places `first` and `stop` of the answers in a checkpoint, both 0 before the test; None for another file."""
    found = _ANSWERS.fullmatch(name)
    if found is None:
        return (0, 0) if name in (TRAINING, LEARNER) else None
    return int(found[1]), int(found[2])


def job_key(job: Tested) -> str:
    """What a job's checkpoints are known by, 64 hex digits: code, data, protocols, seeds, budget and limits."""
    plain = job.model_dump(mode="json", exclude=set(_NOT_IN_KEY))
    return hashlib.sha256(json.dumps(_without_addresses(plain), sort_keys=True).encode()).hexdigest()


def _without_addresses(plain: Any) -> Any:
    if isinstance(plain, dict):
        return {name: _without_addresses(value) for name, value in plain.items() if name != "url"}
    if isinstance(plain, list):
        return [_without_addresses(value) for value in plain]
    return plain
