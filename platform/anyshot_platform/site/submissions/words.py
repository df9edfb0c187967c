"""The words in which pages speak of submissions, runs and failures."""

from dataclasses import dataclass

from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_platform.foundation.filters import size
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.submissions.states import SubmissionKind

KIND_WORDS = {
    SubmissionKind.ENTRY: "entry",
    SubmissionKind.SMOKE: "smoke test",
    SubmissionKind.LATE: "late",
    SubmissionKind.FINAL: "final entry",
    SubmissionKind.BASELINE: "baseline",
}
STAGE_WORDS = {
    RunState.QUEUED: "Queued",
    RunState.PREPARING: "Preparing",
    RunState.META_TRAINING: "Meta-training",
    RunState.META_TESTING: "Meta-testing",
    RunState.SCORING: "Scoring",
}


def peak_words(peak: int, *, exact: bool) -> str:
    """How much memory was used: in steps where the exact number could tell of hidden images."""
    return size(peak) if exact else f"up to {size(peak)}"


@dataclass(frozen=True)
class Blame:
    """Whose doing a failure was: one sentence, and what to do next."""

    sentence: str
    next_step: str
    icon: str


_PARTICIPANT = {
    Verdict.RUNTIME_ERROR: Blame(
        "Your code raised an error.",
        "The traceback below leads to the line. Fix it, check with a dry run, and submit again.",
        "code",
    ),
    Verdict.TIME_LIMIT: Blame(
        "Your code used up its time budget.",
        "Train less or predict faster; the report of a dry run shows where the time goes.",
        "timer",
    ),
    Verdict.MEMORY_LIMIT: Blame(
        "Your code used more memory than the phase allows.",
        "Use smaller batches or a smaller model; free what a task has left behind.",
        "memory-stick",
    ),
    Verdict.OUTPUT_LIMIT: Blame(
        "Your code printed or wrote more than the phase allows.",
        "Print less: a progress bar that prints each step is the usual reason.",
        "terminal",
    ),
    Verdict.PROTOCOL_ERROR: Blame(
        "Your code did not keep to the protocol.",
        (
            "It ended early or wrote where the platform listens. Do not close or replace standard "
            "input and output."
        ),
        "circle-alert",
    ),
    Verdict.BAD_PREDICTION: Blame(
        "Your predictor returned an invalid prediction.",
        "The message below says what is wrong with it.",
        "circle-alert",
    ),
    Verdict.BAD_ARCHIVE: Blame(
        "The zip cannot be used.", "The list of checks says what is wrong with it.", "file-archive"
    ),
}
_GPU_MEMORY = Blame(
    "Your code used more memory than its GPU has.",
    _PARTICIPANT[Verdict.MEMORY_LIMIT].next_step,
    "memory-stick",
)
_BY_CAUSE = {
    Cause.PARTICIPANT: Blame("Your submission failed.", "The message below says why.", "circle-alert"),
    Cause.INFRASTRUCTURE: Blame(
        "This was our fault, not yours.",
        "The platform tried again without success. The operators know; there is nothing for you to do.",
        "server",
    ),
    Cause.ORGANIZER: Blame(
        "The organizers' settings prevented this run.",
        "They can start it again once they have corrected them. There is nothing for you to do.",
        "settings",
    ),
    Cause.USER: Blame("This submission was cancelled.", "Upload it again to have it scored.", "ban"),
    Cause.UNCLEAR: Blame(
        "The process was killed, and we cannot tell by whom.",
        ("It was tried twice. Most often memory outside Python is the reason; the counters below may help."),
        "circle-help",
    ),
}

_OF_AN_EVALUATION = {
    Cause.ORGANIZER: Blame(
        "The organizers' settings prevented this evaluation.",
        "They can start it again once they have corrected them. There is nothing for you to do.",
        "settings",
    ),
    Cause.USER: Blame("This evaluation was cancelled.", "The organizers can start it again.", "ban"),
}


def blame(verdict: Verdict | None, cause: Cause | None, *, of_gpu: bool = False) -> Blame:
    """Whose doing it was. The verdict decides, the cause where the verdict has no words of its own.

    `of_gpu`: the memory that was used up is a GPU's, whose size no phase sets.
    """
    if verdict == Verdict.MEMORY_LIMIT and of_gpu:
        return _GPU_MEMORY
    if verdict is not None and verdict in _PARTICIPANT and cause in (None, Cause.PARTICIPANT):
        return _PARTICIPANT[verdict]
    known = cause or (verdict.cause if verdict else None)
    return _BY_CAUSE[known or Cause.UNCLEAR]


def blame_of_evaluation(verdict: Verdict, *, of_gpu: bool = False) -> Blame:
    """The same for a further evaluation, which nobody can submit again."""
    return _OF_AN_EVALUATION.get(verdict.cause or Cause.UNCLEAR) or blame(
        verdict, verdict.cause, of_gpu=of_gpu
    )
