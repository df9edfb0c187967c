"""The command that repeats a platform run here: same submission, same seeds, tasks of the same shape, public data."""

from __future__ import annotations

import shlex


def reproduce_command(
    filename: str,
    *,
    data: str | None = None,
    train_seed: int | None = None,
    ways: int | None = None,
    shots: int | None = None,
    run_seconds: float | None = None,
    task_seconds: float | None = None,
    isolated_tasks: bool = False,
    within_domain: bool = False,
    each_dataset: bool = False,
    memory_bytes: int | None = None,
) -> str:
    """For the page of a failed run. Hidden tasks stay hidden: `ways` and `shots` of the failed task are repeated on
    public datasets, its images are not. With `memory_bytes` it runs in the sandbox, which alone can hold a limit.
    """
    words = ["anyshot", "dry-run", filename]
    if data is not None:
        words += ["--data", data]
    if within_domain:
        words.append("--within-domain")
    if each_dataset:
        words.append("--each-dataset")
    if train_seed is not None:
        words += ["--seed", str(train_seed)]
    if ways is not None:
        words += ["--ways", str(ways)]
    if shots:
        words += ["--shots", str(shots)]
    if ways is not None or shots:
        words += ["--tasks", "5"]
    if run_seconds is not None:
        words += ["--budget", f"{run_seconds:g}"]
    if task_seconds is not None:
        words += ["--task-seconds", f"{task_seconds:g}"]
    if isolated_tasks:
        words.append("--isolated")
    if memory_bytes is not None:
        words += ["--docker", "--memory", f"{memory_bytes / 2**30:.4g}"]
    return shlex.join(words)
