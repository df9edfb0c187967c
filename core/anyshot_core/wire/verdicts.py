"""How an evaluation can end, and whose doing that was."""

from enum import StrEnum


class Cause(StrEnum):
    """Who has to act on a failure."""

    PARTICIPANT = "participant"
    INFRASTRUCTURE = "infrastructure"
    USER = "user"
    ORGANIZER = "organizer"
    UNCLEAR = "unclear"


class Verdict(StrEnum):
    """The outcome of one attempt; OK is the only one with a score."""

    OK = "OK"
    RUNTIME_ERROR = "RUNTIME_ERROR"
    TIME_LIMIT = "TIME_LIMIT"
    MEMORY_LIMIT = "MEMORY_LIMIT"
    OUTPUT_LIMIT = "OUTPUT_LIMIT"
    PROTOCOL_ERROR = "PROTOCOL_ERROR"
    BAD_PREDICTION = "BAD_PREDICTION"
    BAD_ARCHIVE = "BAD_ARCHIVE"
    SANDBOX_START = "SANDBOX_START"
    IMAGE_MISSING = "IMAGE_MISSING"
    WORKER_LOST = "WORKER_LOST"
    DOCKER_ERROR = "DOCKER_ERROR"
    TASK_SERVER_BUG = "TASK_SERVER_BUG"
    GPU_UNHEALTHY = "GPU_UNHEALTHY"
    CANCELLED = "CANCELLED"
    BAD_POOL = "BAD_POOL"
    BAD_IMAGE = "BAD_IMAGE"
    BAD_SETTINGS = "BAD_SETTINGS"
    KILLED = "KILLED"  # died by signal 9, neither out of memory nor killed by us

    @property
    def cause(self) -> Cause | None:
        """The cause class of the verdict; None for OK."""
        return _CAUSES.get(self)


_CAUSES: dict[Verdict, Cause] = {
    **dict.fromkeys(
        (
            Verdict.RUNTIME_ERROR,
            Verdict.TIME_LIMIT,
            Verdict.MEMORY_LIMIT,
            Verdict.OUTPUT_LIMIT,
            Verdict.PROTOCOL_ERROR,
            Verdict.BAD_PREDICTION,
            Verdict.BAD_ARCHIVE,
        ),
        Cause.PARTICIPANT,
    ),
    **dict.fromkeys(
        (
            Verdict.SANDBOX_START,
            Verdict.IMAGE_MISSING,
            Verdict.WORKER_LOST,
            Verdict.DOCKER_ERROR,
            Verdict.TASK_SERVER_BUG,
            Verdict.GPU_UNHEALTHY,
        ),
        Cause.INFRASTRUCTURE,
    ),
    Verdict.CANCELLED: Cause.USER,
    **dict.fromkeys((Verdict.BAD_POOL, Verdict.BAD_IMAGE, Verdict.BAD_SETTINGS), Cause.ORGANIZER),
    Verdict.KILLED: Cause.UNCLEAR,
}
