"""What the numeric libraries of a runner are told by their environment."""

_COUNTS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

TUNING = {
    # OpenMP's threads spin while they wait for each other, which on cores that others use as well makes every step
    # wait for the scheduler: a small network's training steps were six times slower so than with threads that sleep.
    "OMP_WAIT_POLICY": "passive",
    # torch asks for huge pages for tensors of 2 MiB and more. The activations of a training step are fresh memory
    # each time, and touching it page by page took a third of the step.
    "THP_MEM_ALLOC_ENABLE": "1",
}


def runner_environment(threads: int) -> dict[str, str]:
    """The tuning, and so many threads."""
    return dict.fromkeys(_COUNTS, str(threads)) | TUNING
