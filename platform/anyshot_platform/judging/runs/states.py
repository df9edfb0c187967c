"""The states of a run and the one table of transitions."""

from enum import StrEnum

from anyshot_core.wire.worker_api import Stage
from anyshot_platform.foundation.errors import Conflict


class RunKind(StrEnum):
    """What a run is for: what each kind means is said in `judging.execution.kinds`, an object each."""

    EVALUATE = "evaluate"
    META_TEST = "meta_test"
    SCORE = "score"
    SMOKE = "smoke"
    GATE = "gate"
    ANALYSE = "analyse"
    FURTHER = "further"


class RunState(StrEnum):
    """Where a run stands."""

    WAITING = "waiting"  # for another run: shards after the first
    QUEUED = "queued"
    CLAIMED = "claimed"
    PREPARING = "preparing"
    META_TRAINING = "meta_training"
    META_TESTING = "meta_testing"
    SCORING = "scoring"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"


STAGES = (RunState.PREPARING, RunState.META_TRAINING, RunState.META_TESTING, RunState.SCORING)
RUNNING = frozenset({RunState.CLAIMED, *STAGES})
ENDED = frozenset({RunState.FINISHED, RunState.FAILED, RunState.CANCELLED, RunState.TIMED_OUT})

_UNSUCCESSFUL = frozenset({RunState.FAILED, RunState.CANCELLED, RunState.TIMED_OUT})


def _transitions() -> dict[RunState, frozenset[RunState]]:
    table = {
        RunState.WAITING: frozenset(
            {RunState.QUEUED, RunState.FAILED, RunState.CANCELLED, RunState.TIMED_OUT}
        ),
        RunState.QUEUED: frozenset({RunState.CLAIMED, RunState.FAILED, RunState.CANCELLED}),
    }
    order = (RunState.CLAIMED, *STAGES)
    for place, state in enumerate(order):
        # A stage may be skipped (nothing to meta-train), never gone back to; a lost or released lease leads
        # back to the queue, and the claim that takes an expired lease over leads to `claimed`.
        later = frozenset(order[place + 1 :])
        table[state] = later | _UNSUCCESSFUL | {RunState.QUEUED, RunState.CLAIMED}
    # Completing is announced from any stage: heartbeats are sampled, so the last stages may never be seen.
    for state in order:
        table[state] |= {RunState.FINISHED}
    for state in ENDED:
        table[state] = frozenset()
    return table


TRANSITIONS = _transitions()


class IllegalTransition(Conflict):
    """The run is in a state from which this cannot follow."""

    code = "illegal_transition"


def check_transition(old: RunState, new: RunState) -> None:
    """Raise `IllegalTransition` unless the table has the pair."""
    if new not in TRANSITIONS[old]:
        raise IllegalTransition(f"A run that is {old} cannot become {new}.", old=old.value, new=new.value)


def state_of_stage(stage: Stage) -> RunState:
    """The running state that carries a stage's name."""
    return RunState(stage.value)
