"""How an evaluation can end, and whose doing that was."""

from enum import StrEnum
from typing import Self


class Cause(StrEnum):
    """Who has to act on a failure."""

    PARTICIPANT = "participant"
    INFRASTRUCTURE = "infrastructure"
    USER = "user"
    ORGANIZER = "organizer"
    UNCLEAR = "unclear"


class Verdict(StrEnum):
    """The outcome of one attempt, with the cause of a failure and the words of a list; OK alone has a score."""

    cause: Cause | None
    words: str

    def __new__(cls, value: str, cause: Cause | None, words: str = "our fault") -> Self:
        """Make a member that is equal to its name."""
        made = str.__new__(cls, value)
        made._value_, made.cause, made.words = value, cause, words
        return made

    OK = "OK", None, ""
    RUNTIME_ERROR = "RUNTIME_ERROR", Cause.PARTICIPANT, "error in the code"
    TIME_LIMIT = "TIME_LIMIT", Cause.PARTICIPANT, "out of time"
    MEMORY_LIMIT = "MEMORY_LIMIT", Cause.PARTICIPANT, "out of memory"
    OUTPUT_LIMIT = "OUTPUT_LIMIT", Cause.PARTICIPANT, "too much output"
    PROTOCOL_ERROR = "PROTOCOL_ERROR", Cause.PARTICIPANT, "broke the protocol"
    BAD_PREDICTION = "BAD_PREDICTION", Cause.PARTICIPANT, "invalid prediction"
    BAD_ARCHIVE = "BAD_ARCHIVE", Cause.PARTICIPANT, "bad zip"
    SANDBOX_START = "SANDBOX_START", Cause.INFRASTRUCTURE
    IMAGE_MISSING = "IMAGE_MISSING", Cause.INFRASTRUCTURE
    WORKER_LOST = "WORKER_LOST", Cause.INFRASTRUCTURE
    DOCKER_ERROR = "DOCKER_ERROR", Cause.INFRASTRUCTURE
    TASK_SERVER_BUG = "TASK_SERVER_BUG", Cause.INFRASTRUCTURE
    GPU_UNHEALTHY = "GPU_UNHEALTHY", Cause.INFRASTRUCTURE
    CANCELLED = "CANCELLED", Cause.USER, "cancelled"
    BAD_POOL = "BAD_POOL", Cause.ORGANIZER
    BAD_IMAGE = "BAD_IMAGE", Cause.ORGANIZER
    BAD_SETTINGS = "BAD_SETTINGS", Cause.ORGANIZER
    # Died by signal 9, neither out of memory nor ended by the worker.
    KILLED = "KILLED", Cause.UNCLEAR, "killed"
