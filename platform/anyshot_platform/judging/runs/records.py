"""What a run remembers as JSON, and what its worker's heartbeats need of it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from anyshot_platform.judging.runs.states import STAGES, RunKind, RunState

KEPT_OF_MESSAGE, KEPT_OF_DETAIL = 4_000, 200_000  # characters of what a worker says of a failure


class HeldRun(NamedTuple):
    """The columns of a run that its worker's heartbeats and logs are about."""

    id: str
    epoch: int
    kind: RunKind
    state: RunState
    worker_id: str | None
    cancel_requested_at: datetime | None


class StageTimes(BaseModel):
    """When each stage of the last attempt was first seen, UTC; None: it was not."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    claimed: datetime | None = None
    preparing: datetime | None = None
    meta_training: datetime | None = None
    meta_testing: datetime | None = None
    scoring: datetime | None = None
    finished: datetime | None = None

    def at(self, state: RunState, moment: datetime) -> StageTimes:
        """The times with that of one more stage, unless it was seen before."""
        return self if getattr(self, state.value) else self.model_copy(update={state.value: moment})

    @property
    def last(self) -> RunState | None:
        """The last stage that was seen; None where none was."""
        return next((stage for stage in reversed(STAGES) if getattr(self, stage.value) is not None), None)


class ExpectedStart(BaseModel):
    """When a worker should take a queued run: nine tenths of what was drawn lie between earliest and latest."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    earliest: datetime
    likely: datetime
    latest: datetime


class OwnSeeds(BaseModel):
    """Seeds of a run that measures a gate: not those of its phase."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    gate: bool = True
    train_seed: int
