"""What is told of a failure.

A text about the organizers' settings or about our machines may name hidden data, digests and paths: it stays inside.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshot_core.wire.verdicts import Cause
from anyshot_core.wire.worker_api import PartFailure
from anyshot_platform.kernel.language import say
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.states import ENDED, RunState

NOT_YOURS = say(
    "This run failed for a reason outside your submission. The details went to the organizers and operators."
)
TRIED_AGAIN = say("The platform runs it again, for a reason outside your submission.")
_TOLD = (Cause.PARTICIPANT, Cause.USER)


@dataclass(frozen=True)
class Fault:
    """A failure as somebody is told of it: a sentence, and the traceback."""

    message: str
    detail: str


def fault_of(run: Run, *, details: bool) -> Fault:
    """The failure of a run; without `details` one fixed sentence for what is not the participant's doing."""
    failed = run.state in ENDED and run.state != RunState.FINISHED
    return _told(run.message, run.detail, details or not failed or run.cause in _TOLD)


def fault_of_test(failure: PartFailure, *, details: bool) -> Fault:
    """The failure of a further test, told as that of a run is."""
    return _told(failure.message, failure.detail, details or failure.verdict.cause in _TOLD)


def _told(message: str, detail: str, told: bool) -> Fault:
    return Fault(message, detail) if told else Fault(NOT_YOURS, "")


def progress_of(run: Run, *, details: bool) -> str:
    """What a run that has not ended says; why it is tried again is for organizers only."""
    retried = run.state in (RunState.QUEUED, RunState.WAITING) and bool(run.progress_message)
    return TRIED_AGAIN if retried and not details else run.progress_message
