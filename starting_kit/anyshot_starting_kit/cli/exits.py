"""Exit codes that scripts can rely on."""

from enum import IntEnum


class Exit(IntEnum):
    """What a command ended with; 2 is click's own for wrong usage."""

    OK = 0
    FAILED = 1  # the submission failed, or was refused
    USAGE = 2
    UNAVAILABLE = 3  # the platform, its network or a sandbox cannot be reached, or the token is wrong
    OURS = 4  # a fault that is not the submission's
    UNFINISHED = 5  # it still runs
