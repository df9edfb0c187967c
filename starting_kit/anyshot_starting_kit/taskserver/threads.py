"""What the numeric libraries of a runner are told about threads."""

from __future__ import annotations

_COUNTS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

# OpenMP's threads spin while they wait for each other, which on cores that others use as well makes every step wait
# for the scheduler: a small network's training steps were six times slower so than with threads that sleep.
PATIENT = {"OMP_WAIT_POLICY": "passive"}


def thread_environment(threads: int) -> dict[str, str]:
    """Environment variables for `threads` threads that give way while they wait."""
    return dict.fromkeys(_COUNTS, str(threads)) | PATIENT
