"""What a submission's runs are doing, in words and figures: for the page and for its live stream."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from anyshot_core.words import in_utc
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.filters import duration, join_texts
from anyshot_platform.judging.execution.kinds import kind_of
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import ENDED, RUNNING, STAGES, RunState
from anyshot_platform.judging.visibility.submissions import Sight
from anyshot_platform.judging.workers.places import QueuePlace
from anyshot_platform.site.submissions.provenance import (
    provenance_rows,
    repeat_command,
    shown_provenance,
    train_seed_of,
    words_on_repeat,
)
from anyshot_platform.site.submissions.schemas import Nothing, RunFacts
from anyshot_platform.site.submissions.words import STAGE_WORDS

ORDER = (RunState.QUEUED, *STAGES)
_STREAMED = {"id", "state", "words", "tasks_done", "tasks_total", "seconds_used", "budget_seconds"}


@dataclass(frozen=True)
class StageView:
    """One step of the way of a run."""

    key: str
    label: str
    css: str  # is-done, is-now, is-bad or empty


class RunProgress(RunFacts):
    """One run as the page shows it."""

    title: str  # which of the runs it is, where there are several
    stages: tuple[StageView, ...]
    words: str
    made_of: list[tuple[str, Any]]
    repeat_words: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the stream; `ticking` is whether the participant's clock is running."""
        return {
            **self.model_dump(mode="json", include=_STREAMED),
            "stages": {stage.key: stage.css for stage in self.stages},
            "ticking": self.state in (RunState.META_TRAINING, RunState.META_TESTING),
        }


def show_run(sight: Sight, run: Run, place: QueuePlace | None) -> RunProgress:
    """A run for the page and the stream."""
    known = read_facts(sight, run)
    return RunProgress(
        **dict(known),
        title=run_title(run),
        stages=_stages(run),
        words=join_texts((run_words(run, place, sight.progress(run)), known.forecast)),
        made_of=provenance_rows(run),
        repeat_words=words_on_repeat(run),
    )


def read_facts(sight: Sight, run: Run) -> RunFacts:
    """What a run tells of itself, without what the phase hides."""
    fault = sight.fault(run)
    budget = None if run.submission is None else kind_of(run).seconds(run)
    return RunFacts(
        id=run.id,
        kind=run.kind.value,
        seed_index=run.seed_index,
        shard_index=run.shard_index,
        shard_count=run.shard_count,
        generation=run.generation,
        phase_version=run.phase_version.number,
        state=run.state,
        attempt=run.attempt,
        queued_at=run.queued_at,
        claimed_at=run.claimed_at,
        finished_at=run.finished_at,
        tasks_done=run.tasks_done,
        tasks_total=run.tasks_total,
        seconds_used=run.seconds_used,
        budget_seconds=budget,
        forecast=forecast_words(run, budget or 0.0),
        message=fault.message or sight.progress(run),
        verdict=run.verdict,
        cause=run.cause,
        detail=fault.detail,
        task_index=run.task_index,
        task_ways=run.task_ways,
        task_shots=run.task_shots,
        train_seed=train_seed_of(run),
        reproduce=repeat_command(run),
        usage=sight.used(run) or Nothing(),
        provenance=shown_provenance(run) or Nothing(),
    )


def run_title(run: Run) -> str:
    """Which seeded run of its submission this is, and which part of that."""
    kind = kind_of(run)
    if run.shard_count == 1:
        return kind.called(run, "")
    part = f"part {run.shard_index + 1 if run.shard_index else 1} of {run.shard_count}"
    return kind.called(run, f"{part}, a dataset each" if kind.by_dataset(run) else part)


def last_stage(run: Run) -> RunState | None:
    """The stage that a run had reached when it ended."""
    if run.task_index is not None or run.tasks_done:
        return max(RunState.META_TESTING, run.times.last or RunState.META_TESTING, key=STAGES.index)
    if run.times.last is not None:
        return run.times.last
    return RunState.META_TRAINING if run.seconds_used > 0 else None


def _stages(run: Run) -> tuple[StageView, ...]:
    ended = run.state in ENDED
    reached = last_stage(run) if ended else run.state
    if reached in (RunState.CLAIMED, None):
        reached = RunState.PREPARING if run.claimed_at else RunState.QUEUED
    if reached == RunState.WAITING:
        reached = RunState.QUEUED
    at = ORDER.index(reached)
    done = run.state == RunState.FINISHED
    current = "is-bad" if ended else "is-now"
    return tuple(
        StageView(
            state.value,
            STAGE_WORDS[state],
            "is-done" if done or place < at else (current if place == at else ""),
        )
        for place, state in enumerate(ORDER)
    )


def run_words(run: Run, place: QueuePlace | None, progress: str) -> str:
    """What the run is doing, in one sentence; `progress` is what its worker says."""
    if run.cancel_requested_at is not None and run.state not in ENDED:
        return "Cancelling: the worker stops it within seconds."
    if run.state == RunState.QUEUED:
        words = _queue_words(place)
        return f"{words} (attempt {run.attempt + 1})" if run.attempt else words
    known = {
        RunState.WAITING: "Waiting for the part that meta-trains.",
        RunState.CLAIMED: "A worker has taken it.",
        RunState.PREPARING: "Fetching the data and starting the sandbox.",
        RunState.META_TRAINING: "Meta-training: your code learns on the training data.",
        RunState.SCORING: "All predictions are in; computing the scores.",
        RunState.FINISHED: "Finished.",
        RunState.CANCELLED: "Cancelled.",
        RunState.TIMED_OUT: "The time budget was used up.",
        RunState.FAILED: "Failed.",
    }
    if run.state == RunState.META_TESTING:
        current = min(run.tasks_done + 1, run.tasks_total)
        return f"Meta-testing: task {current} of {run.tasks_total}."
    return progress if run.state == RunState.PREPARING and progress else known[run.state]


def forecast_words(run: Run, budget: float) -> str:
    """How long training may still take; when meta-testing ends at the pace so far, and whether the budget is enough.

    Nothing of tests before three tasks, and nothing without a budget.
    """
    if run.cancel_requested_at or not budget:
        return ""
    if run.state == RunState.META_TRAINING:
        return f"The budget lasts another {duration(max(budget - run.seconds_used, 0.0))}."
    began = run.times.meta_testing
    if run.state != RunState.META_TESTING or began is None or run.tasks_done < 3:
        return ""
    each = max((now() - in_utc(began)).total_seconds(), 0.0) / run.tasks_done
    rest, left = each * (run.tasks_total - run.tasks_done), budget - run.seconds_used
    if rest <= left:
        return f"At this pace it ends in about {duration(rest)}."
    return (
        f"At this pace it ends in about {duration(rest)}: more than the "
        f"{duration(max(left, 0.0))} left of the budget."
    )


def _queue_words(place: QueuePlace | None) -> str:
    if place is None:
        return "In the queue."
    ahead = {0: "Next in the queue", 1: "One run is ahead in the queue"}
    words = ahead.get(place.ahead, f"{place.ahead} runs are ahead in the queue")
    if not place.workers:
        return f"{words}, but no worker can take it now. It keeps its place and starts by itself."
    if place.expected is None:
        return f"{words}."
    moments = (place.expected.earliest, place.expected.likely, place.expected.latest)
    earliest, likely, latest = (max((one - now()).total_seconds(), 0.0) for one in moments)
    if latest < 20:
        return f"{words}; it should start any moment."
    return (
        f"{words}; it should start in about {duration(likely)} ({duration(earliest)} to {duration(latest)})."
    )


def is_live(runs: Sequence[Run]) -> bool:
    """Whether anything can still change."""
    return any(run.state in RUNNING or run.state in (RunState.QUEUED, RunState.WAITING) for run in runs)
