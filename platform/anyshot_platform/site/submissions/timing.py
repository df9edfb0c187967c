"""Where the time of a submission went: the participant's code, and what the platform added."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anyshot_core.wire.worker_api import PlatformStep, Usage
from anyshot_platform.foundation.filters import duration
from anyshot_platform.judging.runs.models import Run

PLATFORM_WORDS = {
    PlatformStep.PREPARE: "Fetching data",
    PlatformStep.SANDBOX_START: "Start of the sandbox",
    PlatformStep.START: "Start of your code's process",
    PlatformStep.EVIDENCE: "Check of weights in the zip",
    PlatformStep.UNPACK: "Unpacking the zip",
    PlatformStep.RESTORE: "Loading the learner into the sandbox",
    PlatformStep.DRAW: "Drawing tasks",
    PlatformStep.TRANSPORT: "Transport of images and predictions",
    PlatformStep.LEARNER: "Copying the learner out of the sandbox",
    PlatformStep.BETWEEN: "Between two steps of your code",
    PlatformStep.FINISH: "End of your code's process",
    PlatformStep.SCORING: "Scoring",
    PlatformStep.ANALYSIS: "Analysis",
    PlatformStep.EXPORTS: "Files for download",
    PlatformStep.UPLOAD: "Storing results",
}


@dataclass(frozen=True)
class TimingStep:
    """One step; `platform` ones are not the participant's."""

    label: str
    seconds: float
    platform: bool


def time_steps(runs: Sequence[Run]) -> tuple[TimingStep, ...]:
    """All steps of the runs together, the participant's first."""
    steps = [
        TimingStep("Meta-training", _sum(runs, lambda used: used.meta_train_seconds), False),
        TimingStep("Meta-testing", _sum(runs, lambda used: used.meta_test_seconds), False),
        TimingStep("Waiting in the queue", sum(queue_seconds(run) for run in runs), True),
    ]
    for key, label in PLATFORM_WORDS.items():
        if any(key in _platform(run) for run in runs):
            steps.append(TimingStep(label, sum(_platform(run).get(key, 0.0) for run in runs), True))
    steps.append(TimingStep("Other work of the platform", sum(map(_unnamed_seconds, runs)), True))
    return tuple(steps)


def queue_seconds(run: Run) -> float:
    """From queueing to the claim that led to the end."""
    if run.claimed_at is None:
        return 0.0
    return max((run.claimed_at - run.queued_at).total_seconds(), 0.0)


def _unnamed_seconds(run: Run) -> float:
    """What is left of the time on the worker, and steps that have no words here: a later worker may know more."""
    unknown = (seconds for key, seconds in _platform(run).items() if key not in PLATFORM_WORDS)
    return left_seconds(run) + sum(unknown)


def left_seconds(run: Run) -> float:
    """What is left of the time on the worker: leases, heartbeats, the last transaction."""
    if run.claimed_at is None or run.finished_at is None or not run.usage:
        return 0.0
    held = (run.finished_at - run.claimed_at).total_seconds()
    known = run.used.participant_seconds + sum(_platform(run).values())
    return max(held - known, 0.0)


def overhead_words(runs: Sequence[Run]) -> str:
    """What the run cost beside the participant's own code, in one sentence."""
    own = _sum(runs, lambda used: used.participant_seconds)
    ours = sum(sum(_platform(run).values()) + left_seconds(run) for run in runs)
    waited = sum(queue_seconds(run) for run in runs)
    if own <= 0:
        return ""
    return (
        f"Besides your code's {duration(own)}, the platform took {duration(ours)}, and the queue {duration(waited)}. "
        "Neither counts towards your budget."
    )


def _sum(runs: Sequence[Run], seconds: Callable[[Usage], float]) -> float:
    return sum(seconds(run.used) for run in runs)


def _platform(run: Run) -> dict[str, float]:
    return run.used.platform_seconds
