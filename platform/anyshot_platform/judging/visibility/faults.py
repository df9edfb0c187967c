"""What is told of a failure.

A text about the organizers' settings or about our machines may name hidden data, digests and paths: it stays inside.
"""

from dataclasses import dataclass

from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_core.wire.worker_api import PartFailure
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import ENDED, RunState

NOT_YOURS = (
    "This run failed for a reason outside your submission. The details went to the organizers and operators."
)
TRIED_AGAIN = "The platform runs it again, for a reason outside your submission."
_TOLD = (Cause.PARTICIPANT, Cause.USER)


@dataclass(frozen=True)
class Fault:
    """A failure as somebody is told of it: a sentence, and the traceback."""

    message: str
    detail: str


@dataclass(frozen=True)
class EvaluationFault(Fault):
    """The failure of a further evaluation at a point: whose doing it was, and its task where one was under way."""

    verdict: Verdict
    task_index: int | None
    task_ways: int | None
    task_shots: int | None


def fault_of(run: Run, *, details: bool) -> Fault:
    """The failure of a run; without `details` one fixed sentence for what is not the participant's doing."""
    failed = run.state in ENDED and run.state != RunState.FINISHED
    return _told(run.message, run.detail, details or not failed or run.cause in _TOLD)


def fault_of_test(run: Run, alone: PartFailure | None, *, details: bool) -> EvaluationFault | None:
    """The failure of a further test, `alone` or with its run, told as that of a run is; None where nobody said why."""
    if alone is not None:
        told = _told(alone.message, alone.detail, details or alone.verdict.cause in _TOLD)
        return EvaluationFault(
            told.message, told.detail, alone.verdict, alone.task_index, alone.ways, alone.shots
        )
    if run.verdict in (None, Verdict.OK):
        return None
    told = fault_of(run, details=details)
    return EvaluationFault(
        told.message, told.detail, run.verdict, run.task_index, run.task_ways, run.task_shots
    )


def ran_out_of_gpu_memory(run: Run) -> bool:
    """Whether a run failed for want of a GPU's memory, not of its box's."""
    return is_of_gpu_memory(run.verdict, run.gpus, run.message)


def is_of_gpu_memory(verdict: Verdict | None, gpus: int, message: str) -> bool:
    """Torch says which it was: a box without memory raises a MemoryError, or is ended."""
    return verdict == Verdict.MEMORY_LIMIT and gpus > 0 and "OutOfMemoryError" in message


def _told(message: str, detail: str, told: bool) -> Fault:
    return Fault(message, detail) if told else Fault(NOT_YOURS, "")


def progress_of(run: Run, *, details: bool) -> str:
    """What a run says until it ends; why it is tried again is for organizers only."""
    if run.state in ENDED:
        return ""
    retried = run.state in (RunState.QUEUED, RunState.WAITING) and bool(run.progress_message)
    return TRIED_AGAIN if retried and not details else run.progress_message
