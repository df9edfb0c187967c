"""What the API says and takes about submissions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_core.wire.worker_api import Provenance, Usage
from anyshot_platform.runs.states import RunState
from anyshot_platform.submissions.states import SubmissionKind, SubmissionStatus


class Nothing(BaseModel):
    """An empty object: it is not known yet."""

    model_config = ConfigDict(extra="forbid")


class UploadIn(BaseModel):
    """An upload to be begun."""

    model_config = ConfigDict(extra="forbid")

    filename: str = Field(min_length=1, max_length=200)
    size: int = Field(gt=0, lt=2**53)
    digest: str | None = Field(
        default=None, pattern="^[0-9a-f]{64}$", description="sha-256 of the whole file"
    )


class UploadOut(BaseModel):
    """Where an upload stands; send the next part from `received` on, at most `part_bytes` long."""

    id: str
    filename: str
    size: int
    received: int
    part_bytes: int


class CheckOut(BaseModel):
    """One check of a bundle."""

    name: str
    title: str
    outcome: str
    found: str
    remedy: str


class ChecksOut(BaseModel):
    """What the checks of an upload say; nothing is queued, no quota is spent."""

    ok: bool
    digest: str
    checks: list[CheckOut]


class SubmitIn(BaseModel):
    """A submission of a complete upload."""

    model_config = ConfigDict(extra="forbid")

    upload_id: str = Field(max_length=32)
    comment: str = Field(default="", max_length=500)
    leagues: list[str] = Field(default=[], max_length=50)
    fact_sheet: dict[str, Any] = Field(default={})
    smoke: bool = Field(default=False, description="A few public tasks, no quota, not on the board.")


class AllowanceOut(BaseModel):
    """One quota; `limit` null is unlimited."""

    used: int
    limit: int | None
    left: int | None


class QuotaOut(BaseModel):
    """What a team may still hand in."""

    day: AllowanceOut
    phase: AllowanceOut
    concurrent: AllowanceOut
    smoke_day: AllowanceOut


class RunOut(BaseModel):
    """A run, as a participant may see it."""

    id: str
    kind: str
    seed_index: int
    shard_index: int | None
    shard_count: int
    generation: int
    phase_version: int
    state: RunState
    attempt: int
    queued_at: datetime
    claimed_at: datetime | None
    finished_at: datetime | None
    tasks_done: int
    tasks_total: int
    seconds_used: float
    budget_seconds: float | None
    message: str
    verdict: Verdict | None
    cause: Cause | None
    detail: str
    task_index: int | None
    task_ways: int | None
    task_shots: int | None
    train_seed: int | None = Field(description="No secret once the run has ended: to repeat it at home.")
    reproduce: str | None = Field(description="The command that repeats an ended run on public data.")
    score: float | None
    half_width: float | None
    usage: Usage | Nothing = Field(description="an empty object while it is not known")
    provenance: Provenance | Nothing = Field(description="an empty object while it is not known")
    artifacts: list[str]


class SubmissionOut(BaseModel):
    """A submission in a list."""

    id: str
    competition: str
    phase: str
    team: str
    kind: SubmissionKind
    number: int
    filename: str
    comment: str
    size: int
    digest: str
    status: SubmissionStatus
    verdict: Verdict | None
    cause: Cause | None
    score: float | None
    half_width: float | None
    counts_quota: bool
    quota_reason: str
    created_at: datetime
    finished_at: datetime | None
    disqualified: bool
    withdrawn: bool


class SubmissionDetail(SubmissionOut):
    """A submission with its runs."""

    checks: list[CheckOut]
    leagues: list[str]
    queue_place: int | None = Field(description="Runs that go before it; null if it is not queued.")
    runs: list[RunOut]


class SubmissionPage(BaseModel):
    """A page of submissions."""

    items: list[SubmissionOut]
    total: int
    offset: int


class LogLine(BaseModel):
    """A line of a run's log; `id` is what to resume from."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    run_id: str
    seq: int
    at: datetime
    stream: str
    stage: str
    text: str
