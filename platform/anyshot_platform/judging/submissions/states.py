"""The states of a submission, and what kind it is."""

from enum import StrEnum

from anyshot_core.wire.verdicts import Cause


class UploadPurpose(StrEnum):
    """What an upload is for: one can be used for nothing else."""

    SUBMISSION = "submission"
    PACK = "pack"


class SubmissionStatus(StrEnum):
    """Where a submission stands; follows from its runs and is written together with them."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


ACTIVE = (SubmissionStatus.QUEUED, SubmissionStatus.RUNNING)
# Causes of a failure that costs the team nothing; in a final phase its run may be repeated.
NOT_THEIR_DOING = (Cause.INFRASTRUCTURE, Cause.ORGANIZER)


class SubmissionKind(StrEnum):
    """Why a submission is evaluated."""

    ENTRY = "entry"  # counts, stands on the board
    SMOKE = "smoke"  # a few public tasks, no quota
    LATE = "late"  # handed in after the phase's end: scored, never ranked
    FINAL = "final"  # taken over from another phase by organizers
    BASELINE = "baseline"  # the organizers', shown marked and out of the ranking


HANDED_IN = (SubmissionKind.ENTRY, SubmissionKind.LATE)  # by teams, to be scored: what quotas count
