"""What the API says and takes about submissions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from anyshot_core.bundle.report import Check
from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_core.wire.worker_api import Provenance, Series, Stage, Usage
from anyshot_platform.foundation.numbers import HalfWidth
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.execution.pairs import Statement
from anyshot_platform.judging.runs.records import ExpectedStart
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.submissions.models import Upload
from anyshot_platform.judging.submissions.states import SubmissionKind, SubmissionStatus
from anyshot_platform.site.submissions.answer import Answer


class Nothing(BaseModel):
    """An empty object: it is not known yet."""

    model_config = ConfigDict(extra="forbid")


class UploadIn(BaseModel):
    """An upload to be started."""

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


def show_upload_of(services: Services, upload: Upload) -> UploadOut:
    """An upload as its user is told of it."""
    return UploadOut(
        id=upload.id,
        filename=upload.filename,
        size=upload.size,
        received=upload.received or 0,
        part_bytes=services.settings.upload_chunk_bytes,
    )


class ChecksOut(BaseModel):
    """What the checks of an upload say; nothing is queued, no quota is spent."""

    ok: bool
    digest: str
    checks: tuple[Check, ...]


class SubmitIn(BaseModel):
    """A submission of a complete upload, or of a zip that the team has submitted before."""

    model_config = ConfigDict(extra="forbid")

    upload_id: str | None = Field(default=None, max_length=32)
    digest: str | None = Field(
        default=None,
        pattern="^[0-9a-f]{64}$",
        description="Instead of an upload: sha-256 of a zip that your team has submitted to this competition.",
    )
    comment: str = Field(default="", max_length=500)
    leagues: list[str] = Field(default=[], max_length=50)
    fact_sheet: dict[str, Any] = Field(default={})
    smoke: bool = Field(default=False, description="A few public tasks, no quota, not on the board.")

    @model_validator(mode="after")
    def _is_one_zip(self) -> SubmitIn:
        if (self.upload_id is None) == (self.digest is None):
            raise ValueError("give upload_id, or the digest of a zip that was submitted before")
        return self


class RunFacts(BaseModel):
    """What a run tells of itself, as a participant may see it."""

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
    forecast: str = Field(
        description="When the run ends at its pace, and whether the budget is enough; empty while nobody can tell."
    )
    message: str
    verdict: Verdict | None
    cause: Cause | None
    detail: str
    task_index: int | None
    task_ways: int | None
    task_shots: int | None
    train_seed: int | None = Field(description="No secret once the run has ended: to repeat it at home.")
    reproduce: str | None = Field(
        description="The command that repeats an ended run, on the competition's public data or on generated pictures."
    )
    usage: Usage | Nothing = Field(description="an empty object while it is not known")
    provenance: Provenance | Nothing = Field(description="an empty object while it is not known")


class RunOut(RunFacts):
    """A run, as a participant may see it."""

    score: float | None
    half_width: HalfWidth
    artifacts: list[str]
    log_lines_missing: int = Field(
        description="Lines that were printed, and that the platform does not keep."
    )


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
    half_width: HalfWidth
    counts_quota: bool
    quota_reason: str
    created_at: datetime = Field(description="the moment that counts")
    arrived_at: datetime | None = Field(description="when it was handed in, where another moment counts")
    counted_words: str = Field(description="which moment counts, where that is not when it was handed in")
    finished_at: datetime | None
    disqualified: bool
    withdrawn: bool
    tags: list[str]


class NoteIn(BaseModel):
    """A change of note or tags; what is left out stays."""

    model_config = ConfigDict(extra="forbid")

    comment: str | None = Field(default=None, max_length=500)
    tags: list[str] | None = Field(default=None, max_length=20)


class SubmissionPairOut(BaseModel):
    """Two submissions to one phase, as *Compare* has them."""

    first: str
    first_score: float | None
    second: str
    second_score: float | None
    statement: Statement
    words: str


class SmokeOut(BaseModel):
    """What a smoke test that is through says."""

    score: float
    half_width: HalfWidth
    tasks: int
    projection: str = Field(description="how long the phase's tasks would take at this speed")
    fits: bool | None


class SubmissionDetail(SubmissionOut):
    """A submission with its runs."""

    checks: tuple[Check, ...]
    leagues: list[str]
    queue_place: int | None = Field(description="Runs that go before it; null if it is not queued.")
    expected_start: ExpectedStart | None = Field(
        description="of that run; null if it is not queued, and where that cannot be told yet"
    )
    runs: list[RunOut]
    answer: Answer | None = Field(description="null without a score that the viewer sees")
    smoke: SmokeOut | None = Field(description="null for all but smoke tests that are through")
    etag: str = Field(description="of note and tags, for `If-Match` of a change")


class SubmissionPage(BaseModel):
    """A page of submissions."""

    items: list[SubmissionOut]
    total: int
    offset: int


class CodeFileOut(BaseModel):
    """A file of a submission's zip."""

    path: str
    size: int
    text: bool = Field(description="whether its text can be shown: UTF-8, and not too long")


class SubmissionCodeOut(BaseModel):
    """The files of a submission's zip, and the text of one."""

    files: list[CodeFileOut]
    shown: str = Field(description="path of the file whose text follows; empty where there is none")
    text: str | None


class ChangedLineOut(BaseModel):
    """A line of a difference."""

    sign: str = Field(description="+ added, - removed, or a space: the same in both")
    old: int | None = Field(description="number of the line before")
    new: int | None
    text: str


class ChangedFileOut(BaseModel):
    """A file that is not the same in both zips; no parts where its texts cannot be compared."""

    path: str
    what: str = Field(description="added, removed or changed")
    parts: list[list[ChangedLineOut]] | None


class ChangesOut(BaseModel):
    """What differs from an earlier zip of the team; `since` is the number of its submission, null where none is."""

    since: int | None
    files: list[ChangedFileOut]


class MeasureOut(BaseModel):
    """A stretch of a run's last attempt: what it used of the machine, or the means of what its logger said.

    `id` is what to resume from; another `epoch` is another attempt, which begins anew.
    """

    model_config = ConfigDict(from_attributes=True)

    id: int
    run_id: str
    epoch: int
    series: Series
    stage: Stage
    seconds: float = Field(description="since the attempt began, at the end of the stretch")
    width: float = Field(description="seconds that the stretch took")
    cpu_cores: float | None
    memory_bytes: int | None
    gpu_share: float | None = Field(description="busy, from 0 to 1")
    gpu_memory_bytes: int | None
    step: int = Field(description="last iteration of training, or last round of validation")
    rows: int = Field(description="rows of the logger that were averaged")
    loss: float | None
    accuracy: float | None
    normalized_accuracy: float | None


class LogLineOut(BaseModel):
    """A line of a run's log; `id` is what to resume from."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    run_id: str
    epoch: int = Field(description="counts the claims of the run: another one is another attempt")
    seq: int
    at: datetime
    stream: str
    stage: str
    text: str
